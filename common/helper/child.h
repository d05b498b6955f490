/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_CHILD_H
#define PROFD_COMMON_HELPER_CHILD_H

/*
 * A program that runs as a child process, is given descriptors, and can be given up: how it is
 * started and waited for. Whoever starts it agrees with it on what the descriptors are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CHILD_FIRST_FD 3 /* the first descriptor that it is given; the others follow */
#define CHILD_FDS_MAX  2

struct child {
	pid_t pid; /* 0: none; kept until it was waited for */
	int pidfd; /* -1: a kernel before 5.3 */
};

#define CHILD_NONE ((struct child){.pidfd = -1})

struct child_program {
	const char *path;
	char *const *argv, *const *environment;
	const int *fds; /* stay the caller's */
	size_t n_fds;
};

/*
 * Starts it with /dev/null as standard input and output, our standard error, @fds and no other
 * descriptors, all signals at their defaults and none blocked, in a session of its own: a
 * terminal's ^C is for us. Returns 0 or negative errno, which is the program's, not fatal.
 */
int child_start(struct child *ret, const struct child_program *program);
/* An existing child process; @pid. */
struct child child_of(pid_t pid);
/*
 * Waits for its end, @timeout_ms at most: a killed process can be in a read(2) that its disk or
 * network does not answer. True: *ret_status is as of waitpid(2), or 0 where somebody else waited
 * for it, and *c is CHILD_NONE. Takes CHILD_NONE.
 */
bool child_reap(struct child *c, int timeout_ms, int *ret_status);

/*
 * An environment for a program: the variables of ours that begin with one of @kept ("NAME=",
 * n_kept of them; NULL: all), and @added ("NAME=value"; NULL: none), in place of ours. *ret is
 * malloc'ed, its texts are borrowed. Returns 0 or -ENOMEM.
 */
int child_environment(char ***ret, const char *const *kept, size_t n_kept, char *added);

#endif
