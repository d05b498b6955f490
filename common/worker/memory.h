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
	uint64_t least; /* what the process had resident since memory_budget_give_back() gave */
};

/*
 * What worker @number, process @pid (0: it is still to be started), may use for a request, bytes,
 * at least MEMORY_LEFT_MIN; until memory_budget_end() nobody else is allowed that. @is_trusted: the
 * files are root's, so that it is as much as the budget in any case: a large program of the system
 * has names while strangers use up all of it. Any thread.
 */
#define MEMORY_LEFT_MIN (UINT64_C(24) << 20)
uint64_t memory_budget_begin(struct memory_budget *b, unsigned number, pid_t pid, bool is_trusted);
void memory_budget_end(struct memory_budget *b, unsigned number);

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
