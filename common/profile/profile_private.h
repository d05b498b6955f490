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

struct profile_tables {
	struct profile_hash_key hash_key;
	struct profile_arena arena;
	struct profile_text *strings;
	size_t n_strings;
	struct profile_table string_table, comment_table, mapping_table, function_table,
		location_table, sample_table;
	size_t max_strings, max_comments, max_mappings, max_functions, max_locations, max_lines,
		max_samples, max_sample_locations, max_sample_values, max_sample_labels;
};

#endif
