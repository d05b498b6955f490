/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_GATHER_H
#define PROFD_RUN_GATHER_H

/*
 * From the samples of many processes to one struct profile. While a process lives its distinct
 * stacks are counted as they came, addresses and all; when it has ended they are placed in its
 * mappings, of which it may have told the last only then. An image that lies elsewhere in each
 * process is laid over where it was seen first.
 *
 * What processes send is bounded and checked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "common/shim/ring_reader.h"

struct gather;
struct gather_process;

#define GATHER_ID_SIZE 128

/*
 * What is known of mappings outside of here, asked soon after a process has ended that had them,
 * for those that samples lie in. What returns int returns 0 or negative errno.
 */
struct gather_world {
	/*
	 * Once for each file: writes the build id of the file at @path with @inode of @device (as
	 * struct maps_line has them) as text, or "".
	 */
	int (*find_id)(void *userdata, const char *path, uint64_t device, uint64_t inode,
		       char ret[GATHER_ID_SIZE]);
	/*
	 * Asked at most once of each process: opens the file that names what its memory holds that
	 * is no file's, written since @start_ns, which gather_free() closes; or returns -1. Only
	 * where there is one such memory has a mapping of the process's own.
	 */
	int (*open_names)(void *userdata, int pid, uint64_t start_ns);
	void *userdata;
};

/* @frequency: that was asked for; @start_ns: Unix time. Returns 0 or negative errno. */
int gather_new(struct gather **ret, uint32_t frequency, uint64_t start_ns,
	       const struct gather_world *world);
/* Takes NULL; after all processes. */
void gather_free(struct gather *g);
DEFINE_CLEANUP(struct gather *, gather_free)

/*
 * Opens the file in @dir, which is /tmp, in which process @pid, that has ended or executes another
 * program, has named the code that it generated: perf-PID.map. It is accepted if it is a regular
 * file of this user's that was written since @start_ns (Unix time), when the command began: older
 * ones may be of another process that had this number. Returns its fd, or -1.
 */
int gather_open_perf_map(const char *dir, int pid, uint64_t start_ns);

/* @program: the path of what it executes, or "". Texts are copied. Returns 0 or negative errno. */
int gather_process_new(struct gather_process **ret, struct gather *g, int pid, const char *comm,
		       const char *program);
/* Takes NULL. What was not finished is forgotten. */
void gather_process_free(struct gather_process *process);
DEFINE_CLEANUP(struct gather_process *, gather_process_free)

/* For a ring's sink, with the process for userdata. The first failure is kept for the end. */
void gather_sample(void *process, const struct ring_sample *sample);
void gather_maps(void *process, uint32_t generation, const char *text, size_t length);

/*
 * Whether a sample has come since gather_update_maps() that lies in no mapping: libprofd looks for
 * generated code less and less often, and a process that is killed meanwhile tells of none. Then
 * gather_update_maps() wants what the kernel shows, /proc/PID/maps of the process while it runs.
 */
bool gather_wants_maps(const struct gather_process *process);
void gather_update_maps(struct gather_process *process, const char *text, size_t length);

/* All of @process is there: places its stacks and adds its account. Returns 0 or negative errno. */
int gather_finish(struct gather_process *process, const struct ring_ledger *ledger);

struct gather_totals {
	uint64_t samples;   /* ticks that are in the profile */
	uint64_t lost;      /* that are not */
	size_t n_processes; /* that were finished */
	size_t n_sampled;   /* of which there is a sample */
};

void gather_get_totals(const struct gather *g, struct gather_totals *ret);
/* Ends it. *ret is the caller's. Returns 0 or negative errno. */
int gather_profile(struct gather *g, uint64_t end_ns, struct profile **ret);
/* The file that names what @mapping of that profile holds, borrowed, or -1. */
int gather_find_names(const struct gather *g, uint32_t mapping);

#endif
