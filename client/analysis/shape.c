/* SPDX-License-Identifier: MIT */
/*
 * What a shape is made with and what it has to say in the end; in between, one sample through all
 * filters: its chain of places is cut at both ends, thinned, and at last written out as frames; a
 * filter that is not there costs a comparison. Places of locations are shape_places.c's.
 */
#include "client/analysis/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/shape_private.h"
#include "common/error.h"
#include "common/memory_text.h"

#define ANY_DROP (PLACE_DROP | PLACE_DROP_BENEATH)

void shape_free(struct shape *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		regex_free(s->regexes[i]);
	tag_filter_free(s->tagfocus);
	tag_filter_free(s->tagignore);
	intern_deinit(&s->label_keys_in);
	free(s->label_keys);
	free(s->roots.strings);
	free(s->leaves.strings);
	intern_deinit(&s->frames_in);
	free(s->frames);
	intern_deinit(&s->kinds_in);
	free(s->kinds);
	free(s->places.all);
	free(s->places.frames);
	free(s->functions);
	free(s->mapping_bits);
	free(s->chain);
	free(s->stack_frames);
	free(s->stack_inlined);
	free(s->labels);
	free(s->lines);
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
	*ret_n = s->frames_in.n;
	return s->frames;
}

static uint32_t flags_of(const struct shape *s, uint32_t place)
{
	return s->places.all[place].flags;
}

/* --- the chain -------------------------------------------------------------------------------- */

/*
 * Where the chain begins after drop_frames: going up from the root, behind the first place to drop
 * that comes after one to keep; a stack of nothing else stays.
 */
static void shape_chain_drop_frames(struct shape *s)
{
	bool any_kept = false;

	for (size_t i = s->n_chain; i-- > s->chain_start;) {
		uint32_t flags = flags_of(s, s->chain[i]);

		if (!(flags & ANY_DROP)) {
			any_kept = true;
		} else if (any_kept) {
			s->chain_start = flags & PLACE_DROP ? i + 1 : i;
			return;
		}
	}
}

/* The sample's places with those of its labels; chain_start leaves room for the ones at the leaf.
 */
static int make_chain(struct shape *s, struct profile *p, const struct profile_sample *sample,
		      const struct stack *stack)
{
	uint32_t seen = 0, n = sample->n_locations;
	const uint32_t *locations = n ? &p->sample_locations[sample->first_location] : NULL;
	size_t max = (size_t)n + s->leaves.n + s->roots.n + 1;
	int r = room_make(&s->chain, &s->max_chain, max, sizeof(*s->chain));

	if (r)
		return r;
	s->chain_start = s->leaves.n;
	s->n_chain = s->chain_start + n;
	for (uint32_t i = 0; i < n; i++) {
		if (locations[i] >= s->places.n)
			return error_origin(-EINVAL); /* nobody has called shape_bind() */
		s->chain[s->chain_start + i] = locations[i];
		seen |= flags_of(s, locations[i]);
	}
	if (seen & ANY_DROP)
		shape_chain_drop_frames(s);
	s->chain_start -= s->leaves.n;
	r = shape_label_locations(s, p, stack, &s->leaves, &s->chain[s->chain_start])
		    ?: shape_label_locations(s, p, stack, &s->roots, &s->chain[s->n_chain]);
	if (r)
		return r;
	s->n_chain += s->roots.n;
	for (uint32_t i = 0; i < s->leaves.n; i++)
		seen |= flags_of(s, s->chain[s->chain_start + i]);
	for (uint32_t i = 0; i < s->roots.n; i++)
		seen |= flags_of(s, s->chain[s->n_chain - 1 - i]);
	s->seen |= seen;
	return 0;
}

static void shape_chain_hide(struct shape *s)
{
	size_t n = s->chain_start;

	for (size_t i = n; i < s->n_chain; i++)
		if (!(flags_of(s, s->chain[i]) & PLACE_HIDDEN))
			s->chain[n++] = s->chain[i];
	s->n_chain = n;
}

/* Leaves nothing if no place is to show from. */
static void show_from(struct shape *s)
{
	while (s->n_chain > s->chain_start &&
	       !(flags_of(s, s->chain[s->n_chain - 1]) & PLACE_SHOW_FROM))
		s->n_chain--;
}

static void prune_from(struct shape *s)
{
	for (size_t i = s->chain_start; i < s->n_chain; i++) {
		if (flags_of(s, s->chain[i]) & PLACE_PRUNE_FROM) {
			s->chain_start = i;
			return;
		}
	}
}

/* Whether anything is left of the chain by what names decide. */
static bool filter_names(struct shape *s)
{
	uint32_t flags = 0;

	if (s->filters_names) {
		for (size_t i = s->chain_start; i < s->n_chain; i++)
			flags |= flags_of(s, s->chain[i]);
		if (!(flags & PLACE_FOCUS) || flags & PLACE_IGNORE)
			return false;
		if (flags & PLACE_HIDDEN)
			shape_chain_hide(s);
		if (s->n_chain == s->chain_start)
			return false;
	}
	if (!s->regexes[SHAPE_SHOW_FROM])
		return true;
	show_from(s);
	return s->n_chain > s->chain_start;
}

/* --- labels ----------------------------------------------------------------------------------- */

static int filter_tags(struct shape *s, const struct profile *p, const struct stack *stack,
		       bool *ret_stays)
{
	bool focused = true, ignored = false;
	int r = 0;

	if (s->tagfocus)
		r = tag_filter_matches(s->tagfocus, p, stack->labels, stack->n_labels, &focused);
	if (!r && s->tagignore)
		r = tag_filter_matches(s->tagignore, p, stack->labels, stack->n_labels, &ignored);
	if (r)
		return r;
	s->tagfocus_matched |= focused;
	s->tagignore_matched |= ignored;
	*ret_stays = focused && !ignored;
	return 0;
}

/* What tagshow and taghide say of a key. They are matched once. */
static int shape_find_key(struct shape *s, const struct profile *p, uint32_t key,
			  struct shape_label_key *ret)
{
	struct regex *show = s->regexes[SHAPE_TAGSHOW], *hide_regex = s->regexes[SHAPE_TAGHIDE];
	const char *text = profile_string(p, key);
	size_t n = s->label_keys_in.n;
	uint32_t index;
	int r;

	*ret = (struct shape_label_key){.key = key};
	r = intern_add(&s->label_keys_in, &s->label_keys, ret, sizeof(*ret), sizeof(key), &index);
	if (r)
		return r;
	if (s->label_keys_in.n > n) {
		s->label_keys[index].is_shown = !show || regex_matches(show, text);
		s->label_keys[index].is_hidden = hide_regex && regex_matches(hide_regex, text);
	}
	*ret = s->label_keys[index];
	return 0;
}

/* The labels that stay. */
static int filter_labels(struct shape *s, const struct profile *p, struct stack *stack)
{
	uint32_t n = 0;
	int r = room_make(&s->labels, &s->max_labels, stack->n_labels, sizeof(*s->labels));

	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		const struct profile_label *l = &stack->labels[i];
		struct shape_label_key key;

		if (!l->str && !tag_is_number(l))
			continue;
		r = shape_find_key(s, p, l->key, &key);
		if (r)
			return r;
		s->tagshow_matched |= key.is_shown;
		s->taghide_matched |= key.is_hidden;
		if (key.is_shown && !key.is_hidden)
			s->labels[n++] = *l;
	}
	if (r)
		return r;
	stack->labels = s->labels;
	stack->n_labels = n;
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

static int grow_stack(struct shape *s, size_t n)
{
	size_t max = s->max_stack;
	int r = room_make(&s->stack_frames, &max, n, sizeof(*s->stack_frames));

	return r ?: room_make(&s->stack_inlined, &s->max_stack, n, 1);
}

static int shape_write_frames(struct shape *s, struct stack *stack)
{
	size_t n = 0;
	int r;

	for (size_t i = s->chain_start; i < s->n_chain; i++) {
		const struct place *place = &s->places.all[s->chain[i]];
		const struct place_frame *frames = &s->places.frames[place->first];

		if (place->n > SHAPE_FRAMES_MAX - n) {
			s->is_cut_off = true;
			s->n_chain = i;
			break;
		}
		if (n + place->n > s->max_stack) {
			r = grow_stack(s, n + place->n);
			if (r)
				return r;
		}
		for (uint32_t j = 0; j < place->n; j++, n++) {
			s->stack_frames[n] = frames[j].frame;
			s->stack_inlined[n] = frames[j].is_inlined;
		}
	}
	stack->frames = s->stack_frames;
	stack->is_inlined = s->stack_inlined;
	stack->n_frames = (uint32_t)n;
	return 0;
}

int shape_stack(struct shape *s, struct profile *p, size_t index, struct stack *ret)
{
	const struct profile_sample *sample = &p->samples[index];
	struct stack stack = {
		.values = p->n_sample_types ? &p->sample_values[index * p->n_sample_types] : NULL,
		.labels = sample->n_labels ? &p->sample_labels[sample->first_label] : NULL,
		.n_labels = sample->n_labels,
	};
	bool stays = true, had_frames;
	int r;

	r = make_chain(s, p, sample, &stack);
	if (r)
		return r;
	if (!filter_names(s))
		return SHAPE_E_DROPPED;
	if (s->tagfocus || s->tagignore)
		r = filter_tags(s, p, &stack, &stays);
	if (!r && !stays)
		return SHAPE_E_DROPPED;
	if (!r && (s->regexes[SHAPE_TAGSHOW] || s->regexes[SHAPE_TAGHIDE]))
		r = filter_labels(s, p, &stack);
	if (r)
		return r;
	if (s->regexes[SHAPE_PRUNE_FROM])
		prune_from(s);
	had_frames = s->n_chain > s->chain_start;
	r = shape_write_frames(s, &stack);
	if (r)
		return r;
	if (had_frames && !stack.n_frames)
		return SHAPE_E_DROPPED; /* more than SHAPE_FRAMES_MAX at one place */
	*ret = stack;
	return SHAPE_E_OK;
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
