/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_TRANSLATION_H
#define PROFD_COMMON_PROFILE_TRANSLATION_H

/*
 * Things of one profile as things of another, which several are added to: each is translated when
 * the first one asks, so that only what samples refer to is taken over. Mappings of one build id
 * (without one: of one path), equal in offset and size but for what pages round, are one mapping,
 * and addresses move with it, as in pprof. What mappings are equal by is not what struct profile
 * compares: they have a table of their own, which outlives a source.
 *
 * Internal to the merge.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/intern.h"
#include "common/profile/profile.h"

struct known_mapping {
	uint64_t n_pages, offset, file; /* file: its build id, or else path */
	uint32_t mapping;
};

/* All zero to begin with. */
struct translation {
	struct profile *to; /* borrowed, both */
	const struct profile *from;
	uint32_t *strings, *mappings, *functions, *locations; /* by index in @from; PROFILE_NONE */
	struct known_mapping *known; /* mappings of @to, by what they are equal by */
	struct intern known_in;
	struct profile_line *lines;
	size_t max_lines;
};

/* From now on of @from, until translation_end(); @to is always the same. 0 or negative errno. */
int translation_begin(struct translation *t, struct profile *to, const struct profile *from);
void translation_end(struct translation *t);
void translation_deinit(struct translation *t);

/* From an index in @from to that in @to, where it is added if need be. 0 or negative errno. */
int translation_add_string(struct translation *t, uint32_t string, uint32_t *ret);
int translation_add_mapping(struct translation *t, uint32_t mapping, uint32_t *ret);
int translation_add_location(struct translation *t, uint32_t location, uint32_t *ret);

#endif
