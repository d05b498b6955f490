/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PROFILE_PRIVATE_H
#define PROFD_COMMON_PROFILE_PROFILE_PRIVATE_H

/*
 * What profile.c and profile_samples.c share. Plain arrays hold the things; beside each array is a
 * table from content to index (see profile_table.h). Structs with padding are hashed field by
 * field. A table is freed when what it was made of changes, or nothing more is expected; if
 * something is added after all, it is made anew.
 */
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"

struct profile_text {
	const char *text;
	size_t length;
};

/* X(name): the arrays of struct profile, and the tables. */
#define PROFILE_ARRAYS(X) \
	X(comments)       \
	X(mappings)       \
	X(functions)      \
	X(locations)      \
	X(lines) X(samples) X(sample_locations) X(sample_values) X(sample_labels) X(times)
#define PROFILE_TABLES(X) X(string) X(comment) X(mapping) X(function) X(location) X(sample)

#define PROFILE_TABLE_FIELD(name) struct profile_table name##_table;
#define PROFILE_MAX_FIELD(name)   size_t max_##name;

struct profile_tables {
	struct profile_hash_key hash_key;
	struct profile_arena arena;
	struct profile_text *strings;
	size_t n_strings, max_strings;
	uint32_t last_sample; /* see profile_last_sample() */
	PROFILE_TABLES(PROFILE_TABLE_FIELD)
	PROFILE_ARRAYS(PROFILE_MAX_FIELD)
};

/* The times of sample @from become ones of @to; of sample_times.c. */
void profile_join_times(struct profile *p, uint32_t to, uint32_t from);

#endif
