/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MEMORY_READER_H
#define PROFD_RESOLVE_MEMORY_READER_H

/*
 * Reads words of other processes' memory that a stack copy lacks, because the page was not there
 * when the tick's program asked (swapped out, not yet copied after a fork, or beyond the copy).
 * Such a read can block for as long as the process's owner likes (FUSE, userfaultfd), so it happens
 * in a child process (/proc/PID/mem), which is killed and replaced when it takes too long. Whose
 * process that was is not asked as often then (held_up.h); nobody else loses anything but time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"

#define MEMORY_READ_MAX  65536u
#define MEMORY_READS_MAX 16u /* under way */

struct memory_reader;

/*
 * Forks, as keeper.h has it: before there are threads, and before much is mapped. @epoll_fd
 * (borrowed) is readable when there is an answer of a child.
 */
int memory_reader_new(struct memory_reader **ret, int epoll_fd);
/* Waits for the children to end, some tenths of a second at most. */
void memory_reader_free(struct memory_reader *m);
DEFINE_CLEANUP(struct memory_reader *, memory_reader_free)

/* Whether as many reads are under way as may be: after an answer, there is room for another. */
bool memory_reader_is_busy(const struct memory_reader *m);
struct memory_read {
	pid_t process, task; /* the same, or a thread of it by which to get at its memory */
	uid_t uid;           /* of the process */
	uint64_t address;
	size_t length; /* at most MEMORY_READ_MAX */
};

/*
 * Asks for up to that much. The answer comes under @cookie, which is greater than the one before.
 * Never blocks. False: too many are under way, the child was lost, or the process or others of its
 * user took too long: do without.
 */
bool memory_reader_request(struct memory_reader *m, uint64_t cookie,
			   const struct memory_read *read);
/*
 * Hands out one answer: cookie, data (borrowed until the next call) and its length, which is
 * shorter than asked for where memory ended, 0 where nothing could be read. False: none is there.
 */
bool memory_reader_receive(struct memory_reader *m, uint64_t *ret_cookie, const uint8_t **ret_data,
			   size_t *ret_length);
/*
 * @now_ns: CLOCK_MONOTONIC. An answer that takes longer than 200 ms, counted from the first tick
 * that awaited it, costs the child its life, and is answered with nothing, as is all that is not to
 * be asked for any more now. The next child is asked for the rest. Not while answers wait to be
 * taken: then it is the caller who is late.
 */
void memory_reader_tick(struct memory_reader *m, uint64_t now_ns);
/* The child from which all that read descend, for measurements; 0: it is lost. */
pid_t memory_reader_keeper(const struct memory_reader *m);

#endif
