/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_VIEW_H
#define PROFD_OUTPUT_VIEW_H

/*
 * A snapshot in the order in which it is written: entries by service, within it by process, there
 * those of waits behind the others, and by generation. places.h names what is at
 * their frames.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/snapshot.h"

struct code_names;

struct view_entry {
	const struct aggregate_entry *entry;
	const struct snapshot_process *process;
	struct stack stack;
	const char *thread_name; /* "": not distinguished */
};

/* One service; of another session than the system's: all of it, service NULL. */
struct view_group {
	const char *service;
	size_t first, n; /* of the view's entries */
};

/* Of places.c: the mappings of the process that was asked for last. All zero: none. */
struct places {
	struct code_names *codes;        /* owned; NULL: of no code */
	const struct mappings *mappings; /* what the ranges are of, or NULL */
	uint32_t generation;
	struct places_range *ranges; /* in order of their images */
	size_t n_ranges, capacity;
};

struct view {
	const struct snapshot *snapshot;
	struct view_entry *entries;
	size_t n_entries;
	struct view_group *groups;
	size_t n_groups;
	struct places *places;          /* owned */
	struct snapshot_process nobody; /* stands for a process that the snapshot does not name */
};

/* Borrows @snapshot for the view's life. */
int view_new(struct view **ret, const struct snapshot *snapshot);
void view_free(struct view *view);
DEFINE_CLEANUP(struct view *, view_free)

/* The one of this serial; one that nothing is known of if the snapshot does not have it. */
const struct snapshot_process *view_find_process(const struct view *view, uint64_t serial);

/* Its weight is time without a CPU. */
static inline bool view_is_wait(const struct view_entry *e)
{
	return e->entry->wait != 0;
}

/* CPU time, of a clock, in ns; else 0. */
static inline uint64_t view_cpu_ns(const struct view *view, const struct view_entry *e)
{
	return view->snapshot->is_clock && !view_is_wait(e) ? e->entry->weight : 0;
}

static inline uint32_t view_n_user(const struct view_entry *e)
{
	return e->stack.n_frames - e->stack.n_kernel;
}

#endif
