/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_MAPS_H
#define PROFD_INGEST_SOURCE_BPF_MAPS_H

/* What source_bpf.c writes into the maps of the programs. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/ingest/unwind_host.h"

/*
 * The filter: the hash of member processes (bpf/filter.bpf.h), which the tracepoints change at the
 * same time. @map is its fd. As source_add_pid() and source_remove_pid():
 */
int bpf_members_add(int map, unsigned sampler, pid_t pid, bool children);
int bpf_members_remove(int map, unsigned sampler, pid_t pid);
/* Takes all of @sampler's members out. */
void bpf_members_remove_sampler(int map, unsigned sampler);

struct profile_bpf;

/* The unwind host (unwind_host.h): the memory of the walks, mapped. */
struct bpf_unwind {
	struct unwind_host host; /* .userdata NULL: not open */
	int roots_fd;            /* borrowed from the skeleton */
	const uint64_t *events_until;
};

/* Before the skeleton is loaded: shares @bytes (0: a default) between the maps. */
void bpf_unwind_size(struct profile_bpf *skeleton, uint64_t bytes);
/*
 * Once it is loaded. @events_until is borrowed for @u's life. Returns 0 or negative errno; takes
 * one of zeroes.
 */
int bpf_unwind_open(struct bpf_unwind *u, struct profile_bpf *skeleton,
		    const uint64_t *events_until);
/* Takes half-open ones and one of zeroes. */
void bpf_unwind_close(struct bpf_unwind *u);

#endif
