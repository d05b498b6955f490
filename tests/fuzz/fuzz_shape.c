/* SPDX-License-Identifier: MIT */
/*
 * Lines of options (`focus=RE`, `granularity=N`, `noinlines=1` ...), an empty line, and a
 * profile.proto: the expressions come from a user, drop_frames and keep_frames from whoever wrote
 * the profile. Whatever they are, stacks are sound; filters that take frames or labels alone keep
 * all samples that have something; and the profile of what is left has the same stacks and sums.
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/shape.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"

#define MAX_BYTES ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct shape_options o;
	char *text; /* of the options */
	const uint8_t *profile;
	size_t profile_size;
};

static void input_deinit(struct input *in)
{
	free(in->text);
}

static void set_option(struct shape_options *o, const char *line)
{
	const struct {
		const char *name, **text;
	} all[] = {
		{"focus=", &o->focus},
		{"ignore=", &o->ignore},
		{"hide=", &o->hide},
		{"show=", &o->show},
		{"show_from=", &o->show_from},
		{"prune_from=", &o->prune_from},
		{"tagfocus=", &o->tagfocus},
		{"tagignore=", &o->tagignore},
		{"tagshow=", &o->tagshow},
		{"taghide=", &o->taghide},
		{"tagroot=", &o->tagroot},
		{"tagleaf=", &o->tagleaf},
		{"unit=", &o->unit},
		{"trim_path=", &o->trim_path},
		{"source_path=", &o->source_path},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strncmp(line, all[i].name, strlen(all[i].name)) == 0)
			*all[i].text = line + strlen(all[i].name);
	if (strncmp(line, "granularity=", 12) == 0)
		o->granularity = (enum shape_granularity)((unsigned char)line[12] % 5);
	o->no_inlines |= strcmp(line, "noinlines") == 0;
	o->ignore_drop_frames |= strcmp(line, "ignore_drop_frames") == 0;
	o->with_objects |= strcmp(line, "objects") == 0;
	o->compares |= strcmp(line, "compares") == 0;
	o->nameless_addresses |= strcmp(line, "nameless") == 0;
}

static bool split(const uint8_t *data, size_t size, struct input *in)
{
	const uint8_t *end = memmem(data, size, "\n\n", 2);
	char *rest, *line;

	if (!end)
		return false;
	in->text = strndup((const char *)data, (size_t)(end - data));
	assert(in->text);
	for (line = strtok_r(in->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		set_option(&in->o, line);
	in->profile = end + 2;
	in->profile_size = size - (size_t)(end + 2 - data);
	return true;
}

static void check_stack(const struct shape *s, const struct profile *p, const struct stack *stack)
{
	size_t n, n_strings = profile_n_strings(p);
	const struct frame *frames = shape_frames(s, &n);

	assert(stack->n_frames <= SHAPE_FRAMES_MAX);
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		assert(stack->frames[i] < n);
		assert(frames[stack->frames[i]].name < n_strings);
		assert(frames[stack->frames[i]].filename < n_strings);
		assert(frames[stack->frames[i]].object < n_strings);
	}
	assert(!stack->n_frames || !stack->is_inlined[stack->n_frames - 1]);
	for (uint32_t i = 0; i < stack->n_labels; i++)
		assert(stack->labels[i].key < n_strings && stack->labels[i].str < n_strings);
}

/* Of the first value. */
struct sums {
	__extension__ __int128 value;
	uint64_t n_frames, n_stacks;
};

static struct sums shape_all(struct shape *s, struct profile *p, struct shape_profile *to)
{
	struct sums sums = {0};
	struct stack stack;

	assert(!shape_bind(s, p));
	for (size_t i = 0; i < p->n_samples; i++) {
		int r = shape_stack(s, p, i, &stack);

		assert(r == SHAPE_E_OK || r == SHAPE_E_DROPPED);
		if (r)
			continue;
		check_stack(s, p, &stack);
		sums.value += stack.values[0];
		sums.n_frames += stack.n_frames;
		sums.n_stacks++;
		if (to)
			assert(!shape_profile_add(to, &stack));
	}
	return sums;
}

static bool keeps_samples(const struct shape_options *o)
{
	const char *const dropping[] = {o->focus,     o->ignore,   o->hide,     o->show,
					o->show_from, o->tagfocus, o->tagignore};

	for (size_t i = 0; i < ARRAY_SIZE(dropping); i++)
		if (dropping[i] && *dropping[i])
			return false;
	return true;
}

/* Without filters, the profile of what is left has what the stacks had. */
static void check_left(struct shape_profile *to, const struct sums *expected)
{
	const struct shape_options all = {.granularity = SHAPE_ADDRESSES,
					  .ignore_drop_frames = true};
	cleanup(profile_freep) struct profile *left = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	struct sums sums;

	assert(!shape_profile_finish(to, &left));
	assert(!shape_new(&s, &all, NULL));
	sums = shape_all(s, left, NULL);
	assert(sums.n_stacks == expected->n_stacks && sums.n_frames <= expected->n_frames);
	assert(sums.value == expected->value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(shape_profile_freep) struct shape_profile *to = NULL;
	cleanup(input_deinit) struct input in = {0};
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *warnings = NULL;
	struct profile_message message = {""};
	struct sums sums;
	int r;

	if (!split(data, size, &in))
		return 0;
	r = shape_new(&s, &in.o, &message);
	assert(r == SHAPE_E_OK || r == SHAPE_E_BAD_OPTION);
	assert((r == SHAPE_E_OK) == !message.text[0]);
	if (r || pprof_read(in.profile, in.profile_size, MAX_BYTES, &p, &message))
		return 0;
	if (!p->n_sample_types)
		return 0;
	assert(!shape_profile_new(&to, s, p));
	sums = shape_all(s, p, to);
	if (keeps_samples(&in.o))
		assert(sums.n_stacks == p->n_samples);
	assert(sums.n_stacks <= p->n_samples);
	check_left(to, &sums);
	assert(!shape_warnings(s, &warnings));
	return 0;
}
