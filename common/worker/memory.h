/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_MEMORY_H
#define PROFD_COMMON_WORKER_MEMORY_H

/*
 * One budget for a process and its image workers: before each request, a worker is allowed what
 * the others leave of it. A file that takes more is answered with WORKER_NO_MEMORY.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"

/* Its workers. */
enum { MEMORY_TABLES, MEMORY_SYMBOLS, MEMORY_CONTAINERS, N_MEMORY_WORKERS };

struct memory_budget {
	uint64_t bytes;
	/* What counts besides the memory of the processes, bytes: the owner keeps it up to date. */
	atomic_ullong other_bytes;
	/* Of each worker, by its number: its process, or 0, and what it was allowed; 0: it rests.
	 */
	atomic_int workers[N_MEMORY_WORKERS];
	atomic_ullong allowed[N_MEMORY_WORKERS];
	/* The last claim: when it ends, CLOCK_MONOTONIC, whose, and what was given back since. */
	atomic_ullong claimed_until_ns;
	atomic_uint claimant;
	atomic_bool has_given;
	uint64_t least; /* what the process had resident since memory_budget_give_back() gave */
};

/*
 * What worker @number, process @pid (0: it is still to be started), may use for a request besides
 * its answer, bytes: of what is left for it and its answers, which is at least MEMORY_LEFT_MIN, and
 * which nobody else is allowed until memory_budget_end(). Who has a claim may have all that is
 * left, the others that least. Any thread.
 */
#define MEMORY_LEFT_MIN (UINT64_C(24) << 20)
uint64_t memory_budget_begin(struct memory_budget *b, unsigned number, pid_t pid);
void memory_budget_end(struct memory_budget *b, unsigned number);

/*
 * Worker @number has to have more: room is made for it. For MEMORY_CLAIM_NS the budget counts as
 * short, memory_budget_give_back() gives what it can, and of two workers the one that claimed last
 * goes first. False: that began less than that ago. Any thread.
 */
#define MEMORY_CLAIM_NS (UINT64_C(10) * NS_PER_S)
bool memory_budget_claim(struct memory_budget *b, unsigned number);
/* All that can be made for its claim has been. */
bool memory_budget_has_made_room(const struct memory_budget *b, unsigned number);

/*
 * Free memory that the C library keeps goes back to the kernel, when there may be much of it: what
 * thousands of small blocks took for a second stays with the heap, below the first one that lives
 * on. To be called from time to time by one thread, whichever others allocate; milliseconds.
 */
void memory_budget_give_back(struct memory_budget *b);

/* Little of the budget is left: what is kept only to spare work is to go. Any thread. */
bool memory_budget_is_short(struct memory_budget *b);

/* Resident memory of @pid, bytes; 0: no such process. /proc/PID/statm waits for no lock. */
uint64_t memory_resident_bytes(pid_t pid);
/*
 * The same of all that descend from this process (helper/descendants.h) and are not workers of @b
 * (NULL: of all). Pages of files that a child has which runs our own program count with ours: each
 * has the same 1 to 2 MB of code in memory.
 */
uint64_t memory_descendants_bytes(const struct memory_budget *b);

#endif
