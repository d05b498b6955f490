/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CPUPROFILE_MAPS_H
#define PROFD_OUTPUT_CPUPROFILE_MAPS_H

/* The text behind a legacy profile's records: lines as in /proc/PID/maps (proc(5)). */
#include "daemon/output/snapshot.h"
#include "daemon/output/symbols.h"

/*
 * The executable mappings of @generation, those of the main program first. A file that was
 * deleted is marked " (deleted)", as the kernel does, unless its path holds the same build id
 * again: readers find the program by this path. *ret is malloc'ed, the caller's; "" if there are
 * none. May open files. Returns 0 or negative errno.
 */
int cpuprofile_maps(struct symbols *symbols, const struct snapshot_process *p, uint32_t generation,
		    char **ret);
/* Pointer size of the program: 4 or 8; 8 where nothing tells. Returns 0 or negative errno. */
int cpuprofile_slot_bytes(struct symbols *symbols, const struct snapshot_process *p, unsigned *ret);

#endif
