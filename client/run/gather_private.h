/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_GATHER_PRIVATE_H
#define PROFD_RUN_GATHER_PRIVATE_H

/*
 * What the parts of gather.h share: gather.c (what comes out of rings, and the profile at the end)
 * and gather_place.c (the end of a process, whose stacks are placed in its mappings).
 */
#include "client/run/gather.h"

struct mapping {
	uint64_t start, end, offset, device, inode;
	uint32_t path;        /* string of the raw profile */
	uint32_t first, last; /* generations */
	bool is_placed;
	uint32_t placed; /* mapping of the profile */
};

/*
 * A part of an image's file, or memory: where it lies in the profile. @owner is the number of the
 * process whose memory it is, 0 for files and what no process tells of.
 */
struct segment {
	uint64_t device, inode, offset, length;
	size_t owner;
	uint32_t path, mapping;
};

struct gather {
	struct profile *profile;
	uint64_t start_ns;
	uint32_t frequency;
	struct gather_world world;
	struct segment *segments;
	size_t n_segments, max_segments;
	struct ring_ledger ledger; /* of all */
	uint64_t dropped;          /* no memory was left for them */
	size_t n_processes, n_sampled;
	char *program; /* of the process with the most samples */
	uint64_t program_weight;
	uint32_t main; /* mapping that was swapped with the first */
	int error;
};

/* Labels of raw samples have no keys: these are their places. */
enum raw_label { RAW_GENERATION, RAW_THREAD, RAW_QUALITY, RAW_REASON, N_RAW_LABELS };

struct gather_process {
	struct gather *gather;
	int pid;
	char comm[RING_COMM];
	char *program;
	struct profile *raw; /* stacks of addresses, with enum raw_label */
	uint64_t weight;
	struct mapping *mappings; /* sorted by start once finished */
	size_t n_mappings, max_mappings;
	uint32_t generation;
	bool wants_look;
	bool is_asked, knows_memory; /* as the world says */
};

/* The first failure is kept for the end. Returns @r. */
static inline int gather_keep_error(struct gather *g, int r)
{
	if (r < 0 && !g->error)
		g->error = r;
	return r;
}

#endif
