/* SPDX-License-Identifier: MIT */
/* Samples and their values: equal ones are one, and values are added without overflow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

struct sample_key {
	const uint32_t *locations;
	const struct profile_label *labels;
	uint32_t n_locations, n_labels;
};

static uint32_t sample_hash(const struct profile *p, const struct sample_key *key)
{
	const struct profile_hash_key *k = &p->tables->hash_key;
	uint32_t hash = profile_hash(k, key->locations, key->n_locations * sizeof(*key->locations));

	for (uint32_t i = 0; i < key->n_labels; i++) {
		const struct profile_label *l = &key->labels[i];
		const uint64_t words[] = {hash, l->key, l->str, l->num_unit, (uint64_t)l->num};

		hash = profile_hash(k, words, sizeof(words));
	}
	return hash;
}

static int sample_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *p = owner;
	const struct profile_sample *a = &p->samples[index];
	const struct sample_key *b = key;

	if (a->n_locations != b->n_locations || a->n_labels != b->n_labels)
		return 0;
	if (b->n_locations && memcmp(&p->sample_locations[a->first_location], b->locations,
				     b->n_locations * sizeof(*b->locations)))
		return 0;
	for (uint32_t i = 0; i < b->n_labels; i++) {
		const struct profile_label *la = &p->sample_labels[a->first_label + i];
		const struct profile_label *lb = &b->labels[i];

		if (la->key != lb->key || la->str != lb->str || la->num_unit != lb->num_unit ||
		    la->num != lb->num)
			return 0;
	}
	return 1;
}

static int sample_make_room(struct profile *p, const struct sample_key *key)
{
	struct profile_tables *t = p->tables;
	int r;

	r = profile_make_room(&p->samples, &t->max_samples, p->n_samples, sizeof(*p->samples),
			      &t->sample_table);
	if (r)
		return r;
	r = room_make(&p->sample_locations, &t->max_sample_locations,
		      p->n_sample_locations + key->n_locations, sizeof(*p->sample_locations));
	if (r)
		return r;
	r = room_make(&p->sample_labels, &t->max_sample_labels, p->n_sample_labels + key->n_labels,
		      sizeof(*p->sample_labels));
	if (r)
		return r;
	return room_make(&p->sample_values, &t->max_sample_values,
			 p->n_samples * p->n_sample_types + p->n_sample_types,
			 sizeof(*p->sample_values));
}

static void sample_append(struct profile *p, const struct sample_key *key, const int64_t *values)
{
	p->samples[p->n_samples] = (struct profile_sample){.first_location = p->n_sample_locations,
							   .first_label = p->n_sample_labels,
							   .n_locations = key->n_locations,
							   .n_labels = key->n_labels};
	if (key->n_locations)
		memcpy(&p->sample_locations[p->n_sample_locations], key->locations,
		       key->n_locations * sizeof(*key->locations));
	if (key->n_labels)
		memcpy(&p->sample_labels[p->n_sample_labels], key->labels,
		       key->n_labels * sizeof(*key->labels));
	if (p->n_sample_types)
		memcpy(&p->sample_values[p->n_samples * p->n_sample_types], values,
		       p->n_sample_types * sizeof(*values));
	p->n_sample_locations += key->n_locations;
	p->n_sample_labels += key->n_labels;
	p->n_samples++;
}

static void sample_add(struct profile *p, uint32_t index, const int64_t *values)
{
	size_t first = (size_t)index * p->n_sample_types;

	for (uint32_t i = 0; i < p->n_sample_types; i++)
		p->sample_values[first + i] = clamped_add(p->sample_values[first + i], values[i]);
}

/* The sample that is equal gets the values; else it is yet to be made, and its hash is told. */
static bool add_to_equal(struct profile *p, const struct sample_key *key, const int64_t *values,
			 uint32_t *ret_hash)
{
	uint32_t hash = sample_hash(p, key);
	uint32_t index = profile_table_find(&p->tables->sample_table, hash, sample_equal, p, key);

	if (index == PROFILE_NONE) {
		*ret_hash = hash;
		return false;
	}
	sample_add(p, index, values);
	return true;
}

int profile_append_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
			  const int64_t *values, const struct profile_label *labels,
			  uint32_t n_labels)
{
	const struct sample_key key = {.locations = locations,
				       .labels = labels,
				       .n_locations = n_locations,
				       .n_labels = n_labels};
	int r = sample_make_room(p, &key);

	if (!r)
		sample_append(p, &key, values);
	return r;
}

int profile_add_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
		       const int64_t *values, const struct profile_label *labels, uint32_t n_labels)
{
	const struct sample_key key = {.locations = locations,
				       .labels = labels,
				       .n_locations = n_locations,
				       .n_labels = n_labels};
	uint32_t hash;
	int r;

	if (add_to_equal(p, &key, values, &hash))
		return 0;
	r = sample_make_room(p, &key);
	if (r)
		return r;
	profile_table_insert(&p->tables->sample_table, hash, (uint32_t)p->n_samples);
	sample_append(p, &key, values);
	return 0;
}

/* Of the samples before the @n'th, one that is equal gets the values of the @i'th; else it goes
 * there. */
static int repack_sample(struct profile *p, size_t i, size_t *n)
{
	const struct profile_sample *s = &p->samples[i];
	const int64_t *values = &p->sample_values[i * p->n_sample_types];
	const struct sample_key key = {
		.locations = s->n_locations ? &p->sample_locations[s->first_location] : NULL,
		.labels = s->n_labels ? &p->sample_labels[s->first_label] : NULL,
		.n_locations = s->n_locations,
		.n_labels = s->n_labels};
	struct profile_table *table = &p->tables->sample_table;
	uint32_t hash;
	int r;

	if (add_to_equal(p, &key, values, &hash))
		return 0;
	r = profile_table_reserve(table);
	if (r)
		return r;
	profile_table_insert(table, hash, (uint32_t)*n);
	p->samples[*n] = *s;
	memmove(&p->sample_values[*n * p->n_sample_types], values,
		p->n_sample_types * sizeof(*values));
	(*n)++;
	return 0;
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
	size_t n = 0;
	int r = 0;

	if (!p->n_sample_types)
		return 0;
	profile_table_clear(&p->tables->sample_table);
	for (size_t i = 0; i < p->n_samples && !r; i++)
		if (!profile_sample_is_zero(p, i))
			r = repack_sample(p, i, &n);
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
	p->samples = NULL;
	p->sample_locations = NULL;
	p->sample_values = NULL;
	p->sample_labels = NULL;
	p->n_samples = p->n_sample_locations = p->n_sample_labels = 0;
	t->max_samples = t->max_sample_locations = t->max_sample_values = t->max_sample_labels = 0;
}

int64_t profile_total(const struct profile *p, uint32_t type)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_samples; i++)
		total = clamped_add(total, p->sample_values[i * p->n_sample_types + type]);
	return total;
}
