/* SPDX-License-Identifier: MIT */
/*
 * Maps by index, of what has been asked for: strings, mappings, functions and locations, each of
 * which needs those before it.
 */
#include "common/profile/translation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

#define SIZE_ROUND UINT64_C(0x1000) /* pprof's: mapped sizes differ in the last page */

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
	intern_deinit(&t->known_in);
	free(t->known);
	free(t->lines);
}

int translation_add_string(struct translation *t, uint32_t string, uint32_t *ret)
{
	uint32_t *to = &t->strings[string];
	int r = *to == PROFILE_NONE ? profile_add_text(t->to, profile_string(t->from, string), to)
				    : 0;

	if (!r)
		*ret = *to;
	return r;
}

int translation_add_mapping(struct translation *t, uint32_t mapping, uint32_t *ret)
{
	struct profile_mapping copy = t->from->mappings[mapping];
	const uint64_t size = copy.limit - copy.start;
	struct known_mapping known = {.n_pages = size / SIZE_ROUND + (size % SIZE_ROUND != 0),
				      .offset = copy.offset,
				      .mapping = PROFILE_NONE};
	uint32_t *to = &t->mappings[mapping], index;
	int r = 0;

	if (*to == PROFILE_NONE) {
		r = translation_add_string(t, copy.path, &copy.path)
			    ?: translation_add_string(t, copy.build_id, &copy.build_id);
		known.file = copy.build_id ? copy.build_id : copy.path;
		r = r
			    ?: intern_add(&t->known_in, &t->known, &known, sizeof(known),
					  offsetof(struct known_mapping, mapping), &index);
		if (!r && t->known[index].mapping == PROFILE_NONE)
			r = profile_add_mapping(t->to, &copy, &t->known[index].mapping);
		if (!r)
			*to = t->known[index].mapping;
	}
	*ret = *to;
	return r;
}

static int translation_add_function(struct translation *t, uint32_t function, uint32_t *ret)
{
	struct profile_function copy = t->from->functions[function];
	uint32_t *to = &t->functions[function];
	int r = 0;

	if (*to == PROFILE_NONE) {
		r = translation_add_string(t, copy.name, &copy.name) ?:
		    translation_add_string(t, copy.system_name, &copy.system_name) ?:
		    translation_add_string(t, copy.filename, &copy.filename) ?:
		    profile_add_function(t->to, &copy, to);
	}
	if (!r)
		*ret = *to;
	return r;
}

int translation_add_location(struct translation *t, uint32_t location, uint32_t *ret)
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
		r = translation_add_mapping(t, l->mapping, &mapping);
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
		r = translation_add_function(t, t->lines[i].function, &t->lines[i].function);
	}
	if (!r)
		r = profile_add_location(t->to, mapping, address, t->lines, l->n_lines, to);
	if (r)
		return r;
	t->to->locations[*to].is_folded |= l->is_folded;
	*ret = *to;
	return 0;
}
