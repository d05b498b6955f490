/* SPDX-License-Identifier: MIT */
/*
 * What a shape is made with and what it has to say in the end. Options are compiled here, the work
 * is done by the other shape_*.c: places of locations, stacks of samples, frames of labels.
 */
#include "client/analysis/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/memory_text.h"
#include "client/analysis/shape_private.h"
#include "common/error.h"

void shape_free(struct shape *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		regex_free(s->regexes[i]);
	tag_filter_free(s->tagfocus);
	tag_filter_free(s->tagignore);
	tag_keys_deinit(&s->shown_keys);
	tag_keys_deinit(&s->hidden_keys);
	free(s->roots.strings);
	free(s->leaves.strings);
	frames_deinit(&s->frames);
	shape_places_deinit(&s->places);
	shape_places_deinit(&s->label_places);
	intern_deinit(&s->label_frames_in);
	free(s->label_frames);
	free(s->functions);
	free(s->mapping_bits);
	free(s->chain);
	free(s->stack_frames);
	free(s->stack_inlined);
	free(s->labels);
	free(s->lines);
	free(s->text);
	free(s);
}

/* Of KEY,KEY...; empty ones are none. */
static int shape_keys_init(struct shape_keys *keys, const char *list)
{
	keys->list = list ? list : "";
	for (const char *c = keys->list; *c; c++)
		keys->n += *c != ',' && (c == list || c[-1] == ',');
	keys->strings = calloc(keys->n + 1, sizeof(*keys->strings));
	return keys->strings ? 0 : error_origin(-ENOMEM);
}

/* The expressions, by what options and warnings call them. */
static const struct {
	const char *option, *name;
	size_t offset;   /* of the text in struct shape_options; NO_OPTION: the profile has it */
	uint32_t places; /* flags of places that it has left; 0: of those nobody is warned */
} shape_expressions[N_SHAPE_REGEXES] = {
#define NO_OPTION SIZE_MAX
#define EXPRESSION(option, name, places)                                      \
	{                                                                     \
#option, name, offsetof(struct shape_options, option), places \
	}
	[SHAPE_FOCUS] = EXPRESSION(focus, "Focus", PLACE_FOCUS),
	[SHAPE_IGNORE] = EXPRESSION(ignore, "Ignore", PLACE_IGNORE),
	[SHAPE_HIDE] = EXPRESSION(hide, "Hide", PLACE_HIDE),
	[SHAPE_SHOW] = EXPRESSION(show, "Show", PLACE_SHOWN),
	[SHAPE_SHOW_FROM] = EXPRESSION(show_from, "ShowFrom", PLACE_SHOW_FROM),
	[SHAPE_PRUNE_FROM] = EXPRESSION(prune_from, "PruneFrom", 0),
	[SHAPE_DROP] = {NULL, "The profile's drop_frames", NO_OPTION, 0},
	[SHAPE_KEEP] = {NULL, "The profile's keep_frames", NO_OPTION, 0},
	[SHAPE_TAGSHOW] = EXPRESSION(tagshow, "TagShow", 0),
	[SHAPE_TAGHIDE] = EXPRESSION(taghide, "TagHide", 0),
};

static int shape_compile(struct shape *s, const struct shape_options *o,
			 struct profile_message *message)
{
	int r = 0;

	for (size_t i = 0; i < N_SHAPE_REGEXES && !r; i++) {
		size_t offset = shape_expressions[i].offset;
		const char *text = offset == NO_OPTION
					   ? NULL
					   : *(const char *const *)((const char *)o + offset);

		if (shape_option_is_set(text))
			r = regex_new(&s->regexes[i], shape_expressions[i].option, text, message);
	}
	if (!r && shape_option_is_set(o->tagfocus))
		r = tag_filter_new(&s->tagfocus, "tagfocus", o->tagfocus, message);
	if (!r && shape_option_is_set(o->tagignore))
		r = tag_filter_new(&s->tagignore, "tagignore", o->tagignore, message);
	return r > 0 ? SHAPE_E_BAD_OPTION : r;
}

int shape_new(struct shape **ret, const struct shape_options *o, struct profile_message *message)
{
	cleanup(shape_freep) struct shape *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->options = *o;
	s->with_columns = o->show_columns || (o->granularity == SHAPE_ADDRESSES && !o->no_inlines);
	s->filters_names = shape_option_is_set(o->focus) || shape_option_is_set(o->ignore) ||
			   shape_option_is_set(o->hide) || shape_option_is_set(o->show);
	r = shape_keys_init(&s->roots, o->tagroot) ?:
		shape_keys_init(&s->leaves, o->tagleaf) ?:
		shape_compile(s, o, message);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return SHAPE_E_OK;
}

const struct frame *shape_frames(const struct shape *s, size_t *ret_n)
{
	*ret_n = s->frames.in.n;
	return s->frames.all;
}

/* --- warnings --------------------------------------------------------------------------------- */

static void warn_of_match(FILE *out, bool is_asked, bool has_matched, const char *name)
{
	if (is_asked && !has_matched)
		fprintf(out, "%s expression matched no samples\n", name);
}

static void warn_of_matches(FILE *out, const struct shape *s)
{
	warn_of_match(out, s->roots.n, s->roots.matched, "TagRoot");
	warn_of_match(out, s->leaves.n, s->leaves.matched, "TagLeaf");
	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		if (shape_expressions[i].places)
			warn_of_match(out, s->regexes[i], s->seen & shape_expressions[i].places,
				      shape_expressions[i].name);
	warn_of_match(out, s->tagfocus, s->tagfocus_matched, "TagFocus");
	warn_of_match(out, s->tagignore, s->tagignore_matched, "TagIgnore");
	warn_of_match(out, s->regexes[SHAPE_TAGSHOW], s->tagshow_matched, "TagShow");
	warn_of_match(out, s->regexes[SHAPE_TAGHIDE], s->taghide_matched, "TagHide");
}

static void warn_of_range(FILE *out, const char *name, const struct tag_filter *f, const char *text)
{
	const char *equals = f ? strchr(text, '=') : NULL;

	if (f && tag_filter_is_range(f))
		fprintf(out, "%s:Interpreted '%s' as range, not regexp\n", name,
			equals ? equals + 1 : text);
}

static void warn_of_steps(FILE *out, const char *name, uint64_t n)
{
	if (n)
		fprintf(out,
			"%s expression takes too long: %" PRIu64
			"%s texts count as not matched by it\n",
			name, n, n >= REGEX_GIVE_UP_MAX ? " or more" : "");
}

static void warn_of_limits(FILE *out, const struct shape *s)
{
	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		if (s->regexes[i])
			warn_of_steps(out, shape_expressions[i].name,
				      regex_n_given_up(s->regexes[i]));
	if (s->tagfocus)
		warn_of_steps(out, "TagFocus", tag_filter_n_given_up(s->tagfocus));
	if (s->tagignore)
		warn_of_steps(out, "TagIgnore", tag_filter_n_given_up(s->tagignore));
	if (s->drop_frames_invalid)
		fprintf(out,
			"The profile's drop_frames or keep_frames is not a regular expression: "
			"no frames are dropped\n");
	if (s->is_cut_off)
		fprintf(out, "stacks of more than %" PRIu32 " frames lack their roots\n",
			SHAPE_FRAMES_MAX);
}

int shape_warnings(const struct shape *s, char **ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);

	if (r)
		return r;
	warn_of_range(text.out, "tagfocus", s->tagfocus, s->options.tagfocus);
	warn_of_range(text.out, "tagignore", s->tagignore, s->options.tagignore);
	warn_of_matches(text.out, s);
	warn_of_limits(text.out, s);
	r = memory_text_close(&text);
	if (!r)
		*ret = steal_ptr(&text.text);
	return r;
}
