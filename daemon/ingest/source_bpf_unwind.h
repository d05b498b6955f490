/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_UNWIND_H
#define PROFD_INGEST_SOURCE_BPF_UNWIND_H

/* The unwind host (unwind_host.h) of the BPF source: the programs' maps, mapped. */
#include <stddef.h>
#include <stdint.h>

#include "daemon/ingest/unwind_host.h"

struct profile_bpf;

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
