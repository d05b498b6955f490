/* SPDX-License-Identifier: MIT */
/*
 * Four arrays, by index in the one profile, hold the index in the other one. What mappings are
 * equal by is not what struct profile compares: they have a table of their own, which outlives a
 * source.
 */
#include "common/profile/translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

#define SIZE_ROUND UINT64_C(0x1000) /* pprof's: mapped sizes differ in the last page */

/* What mappings are equal by: size in pages, offset, build id or else path. */
struct mapping_key {
	uint64_t words[3];
};

static int translation_new_map(uint32_t **ret, size_t n)
{
	*ret = malloc((n + 1) * sizeof(**ret));
	if (!*ret)
		return error_origin(-ENOMEM);
	memset(*ret, 0xff, (n + 1) * sizeof(**ret)); /* PROFILE_NONE */
	return 0;
}

int translation_begin(struct translation *t, struct profile *to, const struct profile *from)
{
	int r = translation_new_map(&t->strings, profile_n_strings(from)) ?:
		translation_new_map(&t->mappings, from->n_mappings) ?:
		translation_new_map(&t->functions, from->n_functions) ?:
		translation_new_map(&t->locations, from->n_locations);

	if (!t->to)
		profile_hash_key_init(&t->hash_key);
	t->to = to;
	t->from = from;
	return r;
}

void translation_end(struct translation *t)
{
	free(t->strings);
	free(t->mappings);
	free(t->functions);
	free(t->locations);
	t->strings = t->mappings = t->functions = t->locations = NULL;
}

void translation_deinit(struct translation *t)
{
	translation_end(t);
	profile_table_deinit(&t->known);
	free(t->lines);
}

int translate_string(struct translation *t, uint32_t string, uint32_t *ret)
{
	uint32_t *to = &t->strings[string];
	int r = *to == PROFILE_NONE ? profile_add_text(t->to, profile_string(t->from, string), to)
				    : 0;

	if (!r)
		*ret = *to;
	return r;
}

static struct mapping_key translate_mapping_key(const struct profile_mapping *m)
{
	const uint64_t size = m->limit - m->start;

	return (struct mapping_key){{size / SIZE_ROUND + (size % SIZE_ROUND != 0), m->offset,
				     m->build_id ? m->build_id : m->path}};
}

static int translate_same_mapping(const void *owner, uint32_t index, const void *key)
{
	const struct profile *p = owner;
	const struct mapping_key other = translate_mapping_key(&p->mappings[index]);

	return !memcmp(&other, key, sizeof(other));
}

int translate_mapping(struct translation *t, uint32_t mapping, uint32_t *ret)
{
	struct profile_mapping copy = t->from->mappings[mapping];
	uint32_t *to = &t->mappings[mapping], hash;
	struct mapping_key key;
	int r = 0;

	if (*to != PROFILE_NONE) {
		*ret = *to;
		return 0;
	}
	r = translate_string(t, copy.path, &copy.path) ?:
	    translate_string(t, copy.build_id, &copy.build_id) ?:
	    profile_table_reserve(&t->known);
	if (r)
		return r;
	key = translate_mapping_key(&copy);
	hash = profile_hash(&t->hash_key, &key, sizeof(key));
	*to = profile_table_find(&t->known, hash, translate_same_mapping, t->to, &key);
	if (*to == PROFILE_NONE) {
		r = profile_add_mapping(t->to, &copy, to);
		if (r)
			return r;
		profile_table_insert(&t->known, hash, *to);
	}
	*ret = *to;
	return 0;
}

static int translate_function(struct translation *t, uint32_t function, uint32_t *ret)
{
	struct profile_function copy = t->from->functions[function];
	uint32_t *to = &t->functions[function];
	int r = 0;

	if (*to == PROFILE_NONE) {
		r = translate_string(t, copy.name, &copy.name) ?:
		    translate_string(t, copy.system_name, &copy.system_name) ?:
		    translate_string(t, copy.filename, &copy.filename) ?:
		    profile_add_function(t->to, &copy, to);
	}
	if (!r)
		*ret = *to;
	return r;
}

int translate_location(struct translation *t, uint32_t location, uint32_t *ret)
{
	const struct profile_location *l = &t->from->locations[location];
	uint32_t *to = &t->locations[location], mapping = PROFILE_NONE;
	uint64_t address = l->address;
	int r = 0;

	if (*to != PROFILE_NONE) {
		*ret = *to;
		return 0;
	}
	if (l->mapping != PROFILE_NONE) {
		r = translate_mapping(t, l->mapping, &mapping);
		if (r)
			return r;
		/* Address 0 is no address: the profile was stripped of them. */
		if (address)
			address += t->to->mappings[mapping].start -
				   t->from->mappings[l->mapping].start;
	}
	r = room_make(&t->lines, &t->max_lines, l->n_lines, sizeof(*t->lines));
	for (uint32_t i = 0; i < l->n_lines && !r; i++) {
		t->lines[i] = t->from->lines[l->first_line + i];
		r = translate_function(t, t->lines[i].function, &t->lines[i].function);
	}
	if (!r)
		r = profile_add_location(t->to, mapping, address, t->lines, l->n_lines, to);
	if (r)
		return r;
	t->to->locations[*to].is_folded |= l->is_folded;
	*ret = *to;
	return 0;
}
