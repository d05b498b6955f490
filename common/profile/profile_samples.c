/* SPDX-License-Identifier: MIT */
/*
 * Samples and their values: equal ones are one, and values are added without overflow. A sample is
 * put behind the others and looked up from there. The table has those that were added or repacked,
 * not those that were appended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

static uint32_t sample_hash(const struct profile *p, uint32_t index)
{
	const struct profile_hash_key *k = &p->tables->hash_key;
	const struct profile_sample *s = &p->samples[index];
	uint32_t hash =
		profile_hash(k, s->n_locations ? &p->sample_locations[s->first_location] : NULL,
			     s->n_locations * sizeof(*p->sample_locations));

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];
		const uint64_t words[] = {hash, l->key, l->str, l->num_unit, (uint64_t)l->num};

		hash = profile_hash(k, words, sizeof(words));
	}
	return hash;
}

static int sample_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile *p = owner;
	const struct profile_sample *a = &p->samples[index];
	const struct profile_sample *b = &p->samples[*(const uint32_t *)other];

	if (a->n_locations != b->n_locations || a->n_labels != b->n_labels)
		return 0;
	for (uint32_t i = 0; i < a->n_locations; i++)
		if (p->sample_locations[a->first_location + i] !=
		    p->sample_locations[b->first_location + i])
			return 0;
	for (uint32_t i = 0; i < a->n_labels; i++) {
		const struct profile_label *x = &p->sample_labels[a->first_label + i];
		const struct profile_label *y = &p->sample_labels[b->first_label + i];

		if (x->key != y->key || x->str != y->str || x->num_unit != y->num_unit ||
		    x->num != y->num)
			return 0;
	}
	return 1;
}

/* The sample @index goes into the table, unless one that is equal gets its values: not *ret_is_new.
 */
static int sample_intern(struct profile *p, uint32_t index, bool *ret_is_new)
{
	struct profile_table *table = &p->tables->sample_table;
	uint32_t hash = sample_hash(p, index);
	uint32_t equal = profile_table_find(table, hash, sample_equal, p, &index);
	int r;

	*ret_is_new = equal == PROFILE_NONE;
	if (*ret_is_new) {
		r = profile_table_reserve(table);
		if (!r)
			profile_table_insert(table, hash, index);
		return r;
	}
	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		int64_t *value = &p->sample_values[(size_t)equal * p->n_sample_types + i];

		*value = clamped_add(*value,
				     p->sample_values[(size_t)index * p->n_sample_types + i]);
	}
	profile_join_times(p, equal, index);
	p->tables->last_sample = equal;
	return 0;
}

int profile_append_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
			  const int64_t *values, const struct profile_label *labels,
			  uint32_t n_labels)
{
	struct profile_tables *t = p->tables;
	const size_t n_types = p->n_sample_types;
	int r;

	if (p->n_samples >= PROFILE_NONE)
		return error_origin(-E2BIG);
	r = room_make(&p->samples, &t->max_samples, p->n_samples + 1, sizeof(*p->samples)) ?:
	    room_make(&p->sample_locations, &t->max_sample_locations,
		      p->n_sample_locations + n_locations, sizeof(*p->sample_locations)) ?:
	    room_make(&p->sample_labels, &t->max_sample_labels, p->n_sample_labels + n_labels,
		      sizeof(*p->sample_labels)) ?:
	    room_make(&p->sample_values, &t->max_sample_values, (p->n_samples + 1) * n_types,
		      sizeof(*p->sample_values));
	if (r)
		return r;
	p->samples[p->n_samples] = (struct profile_sample){.first_location = p->n_sample_locations,
							   .first_label = p->n_sample_labels,
							   .n_locations = n_locations,
							   .n_labels = n_labels};
	if (n_locations)
		memcpy(&p->sample_locations[p->n_sample_locations], locations,
		       n_locations * sizeof(*locations));
	if (n_labels)
		memcpy(&p->sample_labels[p->n_sample_labels], labels, n_labels * sizeof(*labels));
	if (n_types)
		memcpy(&p->sample_values[p->n_samples * n_types], values,
		       n_types * sizeof(*values));
	p->n_sample_locations += n_locations;
	p->n_sample_labels += n_labels;
	t->last_sample = (uint32_t)p->n_samples++;
	return 0;
}

int profile_add_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
		       const int64_t *values, const struct profile_label *labels, uint32_t n_labels)
{
	bool is_new = false;
	int r = profile_append_sample(p, locations, n_locations, values, labels, n_labels);

	if (r)
		return r;
	r = sample_intern(p, (uint32_t)p->n_samples - 1, &is_new);
	if (r || !is_new) {
		p->n_samples--;
		p->n_sample_locations -= n_locations;
		p->n_sample_labels -= n_labels;
	}
	return r;
}

static bool profile_sample_is_zero(const struct profile *p, size_t sample)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		if (p->sample_values[sample * p->n_sample_types + i])
			return false;
	return true;
}

int profile_repack_samples(struct profile *p)
{
	const size_t n_types = p->n_sample_types;
	size_t n = 0;
	int r = 0;

	if (!n_types)
		return 0;
	profile_table_clear(&p->tables->sample_table);
	for (size_t i = 0; i < p->n_samples && !r; i++) {
		bool is_new = false;

		if (profile_sample_is_zero(p, i))
			continue;
		p->samples[n] = p->samples[i];
		memmove(&p->sample_values[n * n_types], &p->sample_values[i * n_types],
			n_types * sizeof(*p->sample_values));
		r = sample_intern(p, (uint32_t)n, &is_new);
		n += is_new;
	}
	p->n_samples = n;
	return r;
}

int profile_drop_zeroes(struct profile *p)
{
	for (size_t i = 0; i < p->n_samples; i++)
		if (profile_sample_is_zero(p, i))
			return profile_repack_samples(p);
	return 0;
}

int profile_insert_sample_type(struct profile *p, uint32_t at, const char *type, const char *unit)
{
	struct profile_tables *t = p->tables;
	const uint32_t n = p->n_sample_types;
	struct profile_value_type inserted;
	int r;

	if (n >= PROFILE_TYPES_MAX)
		return error_origin(-E2BIG);
	r = profile_add_text(p, type, &inserted.type) ?:
	    profile_add_text(p, unit, &inserted.unit) ?:
	    room_make(&p->sample_values, &t->max_sample_values, (p->n_samples + 1) * (n + 1),
		      sizeof(*p->sample_values));
	if (r)
		return r;
	/* From the last one on: each moves to behind where it was. */
	for (size_t i = p->n_samples; i-- > 0;) {
		const int64_t *from = &p->sample_values[i * n];
		int64_t *to = &p->sample_values[i * (n + 1)];

		memmove(to + at + 1, from + at, (n - at) * sizeof(*to));
		memmove(to, from, at * sizeof(*to));
		to[at] = 0;
	}
	memmove(&p->sample_types[at + 1], &p->sample_types[at],
		(n - at) * sizeof(*p->sample_types));
	p->sample_types[at] = inserted;
	p->n_sample_types++;
	return 0;
}

void profile_keep_types(struct profile *p, const uint32_t *types, uint32_t n)
{
	struct profile_value_type kept[PROFILE_TYPES_MAX];
	int64_t values[PROFILE_TYPES_MAX];

	for (size_t i = 0; i < p->n_samples; i++) {
		for (uint32_t j = 0; j < n; j++)
			values[j] = p->sample_values[i * p->n_sample_types + types[j]];
		memcpy(&p->sample_values[i * n], values, n * sizeof(*values));
	}
	for (uint32_t j = 0; j < n; j++)
		kept[j] = p->sample_types[types[j]];
	memcpy(p->sample_types, kept, n * sizeof(*kept));
	p->n_sample_types = n;
}

void profile_clear_samples(struct profile *p)
{
	struct profile_tables *t = p->tables;

	profile_table_deinit(&t->sample_table);
	free(p->samples);
	free(p->sample_locations);
	free(p->sample_values);
	free(p->sample_labels);
	free(p->times);
	p->times = NULL;
	p->samples = NULL;
	p->sample_locations = NULL;
	p->sample_values = NULL;
	p->sample_labels = NULL;
	p->n_samples = p->n_sample_locations = p->n_sample_labels = p->n_times = 0;
	t->max_samples = t->max_sample_locations = t->max_sample_values = t->max_sample_labels = 0;
	t->max_times = 0;
}

int64_t profile_total(const struct profile *p, uint32_t type)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_samples; i++)
		total = clamped_add(total, p->sample_values[i * p->n_sample_types + type]);
	return total;
}

/* From the last sample to the first: values move up, into room that has been left. */
static void profile_widen_values(struct profile *p, uint32_t a, uint32_t b)
{
	const size_t n = p->n_sample_types;

	for (size_t i = p->n_samples; i-- > 0;) {
		int64_t *values = &p->sample_values[i * (n + 1)];

		memmove(values, &p->sample_values[i * n], n * sizeof(*values));
		values[n] = clamped_add(values[a], values[b]);
	}
}

int profile_add_sum(struct profile *p, const char *type, uint32_t a, uint32_t b)
{
	const size_t n = p->n_sample_types;
	struct profile_value_type sum = {.unit = p->sample_types[a].unit};
	int r;

	if (n >= PROFILE_TYPES_MAX)
		return error_origin(-E2BIG);
	r = profile_add_text(p, type, &sum.type)
		    ?: room_make(&p->sample_values, &p->tables->max_sample_values,
				 p->n_samples * (n + 1), sizeof(*p->sample_values));
	if (r)
		return r;
	profile_widen_values(p, a, b);
	p->sample_types[p->n_sample_types++] = sum;
	return 0;
}
