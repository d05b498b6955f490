/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_TRANSLATE_H
#define PROFD_COMMON_PROFILE_TRANSLATE_H

/*
 * Things of one profile as things of another, which several are added to: each is translated when
 * the first one asks, so that only what samples refer to is taken over. Mappings of one build id
 * (without one: of one path), equal in offset and size but for what pages round, are one mapping,
 * and addresses move with it, as in pprof. Internal to common/profile.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"
#include "common/profile/profile_table.h"

/* All zero is one that has seen nothing. */
struct translation {
	struct profile *to; /* borrowed, both */
	const struct profile *from;
	uint32_t *strings, *mappings, *functions, *locations; /* by index in @from; PROFILE_NONE */
	struct profile_hash_key hash_key;
	struct profile_table known; /* mappings of @to, by what they are equal by */
	struct profile_line *lines;
	size_t max_lines;
};

/* From now on of @from, until translation_end(); @to is always the same. 0 or negative errno. */
int translation_begin(struct translation *t, struct profile *to, const struct profile *from);
void translation_end(struct translation *t);
void translation_deinit(struct translation *t);

/* From an index in @from to that in @to, where it is added if need be. 0 or negative errno. */
int translate_string(struct translation *t, uint32_t string, uint32_t *ret);
int translate_mapping(struct translation *t, uint32_t mapping, uint32_t *ret);
int translate_location(struct translation *t, uint32_t location, uint32_t *ret);

#endif
