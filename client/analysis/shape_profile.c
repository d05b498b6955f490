/* SPDX-License-Identifier: MIT */
/*
 * Locations and strings are translated when a sample first needs them, and their numbers there
 * remembered; mappings and functions with the locations.
 */
#include "client/analysis/shape.h"

#include <errno.h>
#include <stdlib.h>

#include "client/analysis/shape_private.h"
#include "common/error.h"

/* From an index here to the one of the same thing there; PROFILE_NONE: not there yet. */
struct index_map {
	uint32_t *to;
	size_t n;
};

struct shape_profile {
	const struct shape *s;
	const struct profile *from;
	struct profile *p;
	struct index_map strings, places;
	uint32_t *chain;
	size_t max_chain;
	struct profile_line *lines;
	size_t max_lines;
	struct profile_label *labels;
	size_t max_labels;
};

void shape_profile_free(struct shape_profile *to)
{
	if (!to)
		return;
	profile_free(to->p);
	free(to->strings.to);
	free(to->places.to);
	free(to->chain);
	free(to->lines);
	free(to->labels);
	free(to);
}

typedef int (*index_map_add)(struct shape_profile *to, uint32_t index, uint32_t *ret);

/* The number of @index there; what has none yet is added. */
static int index_map_translate(struct index_map *map, struct shape_profile *to, uint32_t index,
			       index_map_add add, uint32_t *ret)
{
	size_t n = map->n;
	int r = room_make(&map->to, &n, (size_t)index + 1, sizeof(*map->to));

	if (r)
		return r;
	for (; map->n < n; map->n++)
		map->to[map->n] = PROFILE_NONE;
	if (map->to[index] == PROFILE_NONE)
		r = add(to, index, &map->to[index]);
	if (!r)
		*ret = map->to[index];
	return r;
}

static int shape_add_string(struct shape_profile *to, uint32_t string, uint32_t *ret)
{
	return profile_add_text(to->p, profile_string(to->from, string), ret);
}

/* @n of them, each where it is said to be. */
static int shape_translate_strings(struct shape_profile *to, uint32_t *const *strings, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = index_map_translate(&to->strings, to, *strings[i], shape_add_string,
					strings[i]);
	return r;
}

static int shape_add_mapping(struct shape_profile *to, uint32_t mapping, uint32_t *ret)
{
	struct profile_mapping copy = to->from->mappings[mapping];
	int r = shape_translate_strings(to, (uint32_t *[]){&copy.path, &copy.build_id}, 2);

	copy.has_inline_frames &= !to->s->options.no_inlines;
	return r ?: profile_add_mapping(to->p, &copy, ret);
}

static int shape_copy_function(struct shape_profile *to, struct profile_function copy,
			       uint32_t *ret)
{
	uint32_t *const strings[] = {&copy.name, &copy.system_name, &copy.filename};
	int r = shape_translate_strings(to, strings, ARRAY_SIZE(strings));

	return r ?: profile_add_function(to->p, &copy, ret);
}

/* What the filters have left of a location. */
static int shape_add_location(struct shape_profile *to, uint32_t location, uint32_t *ret)
{
	const struct profile_location *l = &to->from->locations[location];
	const struct place *place = &to->s->places.all[location];
	const struct place_frame *frames = &to->s->places.frames[place->first];
	uint32_t mapping = PROFILE_NONE, n = 0;
	int r = 0;

	if (l->mapping != PROFILE_NONE)
		r = shape_add_mapping(to, l->mapping, &mapping);
	if (!r)
		r = room_make(&to->lines, &to->max_lines, place->n, sizeof(*to->lines));
	for (uint32_t i = 0; i < place->n && !r; i++) {
		if (frames[i].line == PROFILE_NONE)
			continue;
		to->lines[n] = to->from->lines[l->first_line + frames[i].line];
		if (!to->s->with_columns)
			to->lines[n].column = 0;
		r = shape_copy_function(to, to->from->functions[to->lines[n].function],
					&to->lines[n].function);
		n++;
	}
	if (!r)
		r = profile_add_location(to->p, mapping, l->address, to->lines, n, ret);
	if (!r)
		to->p->locations[*ret].is_folded |= l->is_folded;
	return r;
}

static int shape_translate_labels(struct shape_profile *to, const struct stack *stack)
{
	int r = room_make(&to->labels, &to->max_labels, stack->n_labels, sizeof(*to->labels));

	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		struct profile_label *l = &to->labels[i];

		*l = stack->labels[i];
		r = shape_translate_strings(to, (uint32_t *[]){&l->key, &l->str, &l->num_unit}, 3);
	}
	return r;
}

int shape_profile_add(struct shape_profile *to, const struct stack *stack)
{
	const struct shape *s = to->s;
	uint32_t n = (uint32_t)(s->n_chain - s->chain_start);
	int r = room_make(&to->chain, &to->max_chain, n, sizeof(*to->chain));

	for (uint32_t i = 0; i < n && !r; i++)
		r = index_map_translate(&to->places, to, s->chain[s->chain_start + i],
					shape_add_location, &to->chain[i]);
	return r ?:
		shape_translate_labels(to, stack) ?:
		profile_append_sample(to->p, to->chain, n, stack->values, to->labels,
				      stack->n_labels);
}

/* --- the profile itself ----------------------------------------------------------------------- */

static int shape_copy_types(struct shape_profile *to)
{
	const struct profile *from = to->from;
	int r = 0;

	for (uint32_t i = 0; i < from->n_sample_types && !r; i++)
		r = profile_add_sample_type(to->p, profile_string(from, from->sample_types[i].type),
					    profile_string(from, from->sample_types[i].unit));
	return r;
}

int shape_profile_new(struct shape_profile **ret, const struct shape *s, const struct profile *p)
{
	cleanup(shape_profile_freep) struct shape_profile *to = calloc(1, sizeof(*to));
	uint32_t main_mapping;
	int r;

	if (!to)
		return error_origin(-ENOMEM);
	to->s = s;
	to->from = p;
	r = profile_new(&to->p) ?: shape_copy_types(to);
	if (!r && p->n_mappings)
		r = shape_add_mapping(to, 0, &main_mapping);
	if (r)
		return r;
	*ret = steal_ptr(&to);
	return 0;
}

int shape_profile_finish(struct shape_profile *to, struct profile **ret)
{
	const struct profile *from = to->from;
	struct profile *p = to->p;
	uint32_t *const strings[] = {
		&p->period_type.type, &p->period_type.unit, &p->default_sample_type,
		&p->drop_frames,      &p->keep_frames,      &p->doc_url,
	};
	int r;

	p->period_type = from->period_type;
	p->default_sample_type = from->default_sample_type;
	p->drop_frames = from->drop_frames;
	p->keep_frames = from->keep_frames;
	p->doc_url = from->doc_url;
	r = shape_translate_strings(to, strings, ARRAY_SIZE(strings));
	for (size_t i = 0; i < from->n_comments && !r; i++)
		r = profile_add_comment(p, profile_string(from, from->comments[i]));
	if (r)
		return r;
	p->period = from->period;
	p->time_ns = from->time_ns;
	p->duration_ns = from->duration_ns;
	*ret = steal_ptr(&to->p);
	return 0;
}
