/* SPDX-License-Identifier: MIT */
/*
 * One sample through all filters. Its chain of places is cut at both ends, thinned, and at last
 * written out as frames; a filter that is not there costs a comparison.
 */
#include <errno.h>

#include "client/analysis/shape_private.h"
#include "common/error.h"

#define ANY_DROP (PLACE_DROP | PLACE_DROP_BENEATH)

static uint32_t flags_of(const struct shape *s, uint32_t link)
{
	const struct places *places;

	return shape_place(s, link, &places)->flags;
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
		seen |= s->places.all[locations[i]].flags;
	}
	if (seen & ANY_DROP)
		shape_chain_drop_frames(s);
	s->chain_start -= s->leaves.n;
	r = shape_label_frames(s, p, stack, &s->leaves, &s->chain[s->chain_start])
		    ?: shape_label_frames(s, p, stack, &s->roots, &s->chain[s->n_chain]);
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

/* tagshow and taghide: the labels that stay. */
static int filter_labels(struct shape *s, const struct profile *p, struct stack *stack)
{
	struct regex *show = s->regexes[SHAPE_TAGSHOW], *hide_regex = s->regexes[SHAPE_TAGHIDE];
	uint32_t n = 0;
	int r = room_make(&s->labels, &s->max_labels, stack->n_labels, sizeof(*s->labels));

	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		const struct profile_label *l = &stack->labels[i];
		bool shown = true, hidden = false;

		if (!l->str && !tag_is_number(l))
			continue;
		if (show)
			r = tag_keys_match(&s->shown_keys, show, p, l->key, &shown);
		if (!r && hide_regex)
			r = tag_keys_match(&s->hidden_keys, hide_regex, p, l->key, &hidden);
		s->tagshow_matched |= shown;
		s->taghide_matched |= hidden;
		if (!r && shown && !hidden)
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
		const struct places *places;
		const struct place *place = shape_place(s, s->chain[i], &places);

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
			s->stack_frames[n] = places->frames[place->first + j].frame;
			s->stack_inlined[n] = places->frames[place->first + j].is_inlined;
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
