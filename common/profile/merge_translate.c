/* SPDX-License-Identifier: MIT */
/*
 * Things of the profile that is added are translated when the first sample refers to them: four
 * arrays, by index there, hold the index here.
 */

#include "common/profile/merge_private.h"

#define SIZE_ROUND UINT64_C(0x1000) /* pprof's: mapped sizes differ in the last page */

/* What mappings are equal by. */
struct mapping_key {
	uint64_t size, offset;
	uint32_t file; /* build id, else path */
};

int merge_translate_string(struct merge *m, uint32_t string, uint32_t *ret)
{
	uint32_t *to = &m->strings[string];
	int r;

	if (*to == PROFILE_NONE) {
		r = profile_add_text(m->p, profile_string(m->from, string), to);
		if (r)
			return r;
	}
	*ret = *to;
	return 0;
}

static struct mapping_key merge_mapping_key(const struct profile_mapping *m)
{
	const uint64_t size = m->limit - m->start;

	return (struct mapping_key){
		.size = size / SIZE_ROUND + (size % SIZE_ROUND != 0),
		.offset = m->offset,
		.file = m->build_id ? m->build_id : m->path,
	};
}

static int same_key(const void *owner, uint32_t index, const void *key)
{
	const struct mapping_key a = merge_mapping_key(
		&((const struct profile *)owner)->mappings[index]);
	const struct mapping_key *b = key;

	return a.size == b->size && a.offset == b->offset && a.file == b->file;
}

int merge_translate_mapping(struct merge *m, uint32_t mapping, uint32_t *ret)
{
	struct profile_mapping copy = m->from->mappings[mapping];
	uint32_t *to = &m->map_mappings[mapping], hash;
	struct mapping_key key;
	uint64_t words[3];
	int r;

	if (*to != PROFILE_NONE) {
		*ret = *to;
		return 0;
	}
	r = merge_translate_string(m, copy.path, &copy.path);
	if (!r)
		r = merge_translate_string(m, copy.build_id, &copy.build_id);
	if (!r)
		r = profile_table_reserve(&m->mappings);
	if (r)
		return r;
	key = merge_mapping_key(&copy);
	words[0] = key.size;
	words[1] = key.offset;
	words[2] = key.file;
	hash = profile_hash(&m->hash_key, words, sizeof(words));
	*to = profile_table_find(&m->mappings, hash, same_key, m->p, &key);
	if (*to == PROFILE_NONE) {
		r = profile_add_mapping(m->p, &copy, to);
		if (r)
			return r;
		profile_table_insert(&m->mappings, hash, *to);
	}
	*ret = *to;
	return 0;
}

static int merge_translate_function(struct merge *m, uint32_t function, uint32_t *ret)
{
	struct profile_function copy = m->from->functions[function];
	uint32_t *to = &m->map_functions[function];
	int r = 0;

	if (*to == PROFILE_NONE) {
		r = merge_translate_string(m, copy.name, &copy.name);
		if (!r)
			r = merge_translate_string(m, copy.system_name, &copy.system_name);
		if (!r)
			r = merge_translate_string(m, copy.filename, &copy.filename);
		if (!r)
			r = profile_add_function(m->p, &copy, to);
	}
	if (!r)
		*ret = *to;
	return r;
}

static int merge_translate_lines(struct merge *m, const struct profile_location *l)
{
	int r = room_make(&m->lines, &m->max_lines, l->n_lines, sizeof(*m->lines));

	for (uint32_t i = 0; i < l->n_lines && !r; i++) {
		m->lines[i] = m->from->lines[l->first_line + i];
		r = merge_translate_function(m, m->lines[i].function, &m->lines[i].function);
	}
	return r;
}

int merge_translate_location(struct merge *m, uint32_t location, uint32_t *ret)
{
	const struct profile_location *l = &m->from->locations[location];
	uint32_t *to = &m->map_locations[location], mapping = PROFILE_NONE;
	uint64_t address = l->address;
	int r = 0;

	if (*to != PROFILE_NONE) {
		*ret = *to;
		return 0;
	}
	if (l->mapping != PROFILE_NONE) {
		r = merge_translate_mapping(m, l->mapping, &mapping);
		if (r)
			return r;
		/* Address 0 is no address: the profile was stripped of them. */
		if (address)
			address += m->p->mappings[mapping].start -
				   m->from->mappings[l->mapping].start;
	}
	r = merge_translate_lines(m, l);
	if (!r)
		r = profile_add_location(m->p, mapping, address, m->lines, l->n_lines, to);
	if (r)
		return r;
	m->p->locations[*to].is_folded |= l->is_folded;
	*ret = *to;
	return 0;
}
