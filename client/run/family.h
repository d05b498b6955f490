/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_FAMILY_H
#define PROFD_RUN_FAMILY_H

/*
 * The processes of a command, as many as ask at a private socket for a ring (common/shim): each
 * gets one, which is read ten times a second and when it is half full, until the process ends. The
 * memory is ours: whatever ends a process, what it had written is still there.
 *
 * Processes may do what they like with their rings: a ring that makes no sense is left alone, and
 * none is read for longer than the others can wait.
 */
#include <stdint.h>
#include <sys/types.h>

#include "client/run/gather.h"

struct family;

/*
 * Makes the socket, in a directory of its own below $TMPDIR or /tmp. @gather is borrowed. Returns 0
 * or negative errno.
 */
int family_new(struct family **ret, struct gather *gather, uint32_t frequency);
/* Removes the socket; no process is sampled any more. Takes NULL. */
void family_free(struct family *f);
DEFINE_CLEANUP(struct family *, family_free)

/* The socket's path; borrowed. */
const char *family_socket(const struct family *f);

struct family_totals {
	uint64_t n_attached; /* processes, and programs that one executed after the other */
	uint64_t n_refused;  /* that asked in vain: too many at once */
	uint64_t n_broken;   /* whose rings made no sense */
	uint64_t n_left;     /* that lived on when the command ended */
	uint64_t n_held_up;  /* that could not be looked at */
	pid_t held_up;       /* the last one of these */
};

/*
 * Serves until the child @pid has ended, and reads all rings to their ends. Signals that are meant
 * for @pid are passed on to it: the caller has blocked them, launch_signals(). *ret_status as of
 * waitpid(2). Returns 0 or negative errno.
 */
int family_serve(struct family *f, pid_t pid, int *ret_status, struct family_totals *ret_totals);

#endif
