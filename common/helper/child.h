/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_CHILD_H
#define PROFD_COMMON_HELPER_CHILD_H

/*
 * A program that runs as a child process, is spoken to over sockets, and can be given up: how it is
 * started and waited for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CHILD_FIRST_FD    3
#define CHILD_SOCKETS_MAX 2

struct child {
	pid_t pid; /* 0: none; kept until it was waited for */
	int pidfd; /* -1: a kernel before 5.3 */
};

#define CHILD_NONE ((struct child){.pidfd = -1})

struct child_program {
	const char *path;
	char *const *argv, *const *environment;
	/*
	 * Types of sockets (SOCK_SEQPACKET ...): of a pair of each, it has one end, the first as
	 * CHILD_FIRST_FD, the others behind it.
	 */
	const int *sockets;
	size_t n_sockets;
	const int *file; /* a descriptor for it, behind these; borrowed; NULL: none */
};

/*
 * Starts it with /dev/null as standard input and output, our standard error, its sockets and no
 * other descriptors, all signals at their defaults and none blocked, in a session of its own: a
 * terminal's ^C is for us. @ret_sockets: our ends. Returns 0 or negative errno, which is the
 * program's, not fatal.
 */
int child_start(struct child *ret, const struct child_program *program, int *ret_sockets);
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
