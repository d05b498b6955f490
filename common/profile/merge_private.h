/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_MERGE_PRIVATE_H
#define PROFD_COMMON_PROFILE_MERGE_PRIVATE_H

/* What merge.c, merge_types.c, merge_windows.c and merge_translate.c share. */
#include "common/profile/merge.h"
#include "common/profile/profile_table.h"
#include "common/profile/windows.h"
#include "common/room.h"

struct merge {
	struct profile *p;
	enum merge_windows mode;
	bool takes_common; /* types that not all profiles have are left out */
	struct profile_hash_key hash_key;
	struct profile_table mappings; /* by struct mapping_key */
	struct profile_windows windows;
	char *ledger; /* of all windows */
	int64_t duration_ns;
	uint32_t window_key, window_unit;
	/* The profile that is being added. */
	const struct profile *from;
	const struct merge_select *select;
	struct profile_windows from_windows;
	bool *selected;                                 /* which of them are */
	double ratios[PROFILE_TYPES_MAX], period_ratio; /* to the units of @p */
	uint32_t from_types[PROFILE_TYPES_MAX]; /* where the values of @p's types are in @from */
	int64_t label_now;                      /* for samples without a label */
	uint32_t *strings, *map_mappings, *map_functions, *map_locations;
	uint32_t from_window, from_pid; /* strings; PROFILE_NONE: not in there */
	/* Of one sample or location. */
	uint32_t *chain;
	size_t max_chain;
	struct profile_label *labels;
	size_t max_labels;
	struct profile_line *lines;
	size_t max_lines;
};

/*
 * From an index in m->from to the one of the same thing in m->p, where it is added if need be.
 * Return 0 or negative errno.
 */
int merge_translate_string(struct merge *m, uint32_t string, uint32_t *ret);
int merge_translate_mapping(struct merge *m, uint32_t mapping, uint32_t *ret);
int merge_translate_location(struct merge *m, uint32_t location, uint32_t *ret);

/*
 * The sample types of the first profile. Then the finest units, of what is there and of what is
 * added: MERGE_E_* or negative errno.
 */
int merge_begin_types(struct merge *m);
int merge_agree_types(struct merge *m, struct profile_message *message);

/*
 * Finds which windows of m->from are selected: MERGE_E_NOTHING: none; or negative errno. Then,
 * whether those that begin in the @second (Unix time) are.
 */
int merge_select_windows(struct merge *m);
bool merge_is_selected(const struct merge *m, int64_t second);
/* Adds the selected ones, their ledgers and durations, and the earliest time. Once. */
int merge_add_windows(struct merge *m);

#endif
