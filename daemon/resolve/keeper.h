/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_KEEPER_H
#define PROFD_RESOLVE_KEEPER_H

/*
 * A child process for what can block as long as a stranger likes (file systems that strangers
 * serve, their memory), and that is therefore replaced when it takes too long, without waiting for
 * its end: it may be stuck in a system call that not even SIGKILL interrupts.
 *
 *   keeper   forked once, while profd is small and has no threads; forks servants. Waits on the
 *            control socket: a message asks for another servant in place of the one it has, the
 *            socket's end for its own.
 *   servant  takes requests from the data socket, one after the other, and answers them.
 *
 * All servants use the same data socket, one after the other. One that was killed while it is stuck
 * ends before it would do anything else, whenever that is. Its successor is told the number of the
 * first request that is for it, and passes over those before. So is replacing a servant never a
 * matter of waiting: not for its end, and not for a fork of the grown profd.
 *
 * Each may make no other system calls than it needs, and has only the capabilities that the job
 * takes: what strangers' memory and file systems make of a servant is no more than that.
 *
 * Only if the keeper is lost (somebody killed it) does profd fork again. By then it may have
 * threads: the children call nothing but async-signal-safe functions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct confine_filter;
struct confine_table;

struct keeper_job {
	const char *keeper_name, *servant_name; /* of the processes, at most 15 bytes */
	/*
	 * The servant: serves @data_fd, a SOCK_SEQPACKET, until its end. Async-signal-safe.
	 * @memory: below.
	 */
	void (*serve)(int data_fd, uint64_t first_id, void *memory);
	void *memory; /* made before the fork, for what serve() needs; borrowed */
	/* What serve() needs: system calls, any other fails with ENOSYS; and of capabilities. */
	const struct confine_table *calls;
	uint64_t capabilities; /* bit CAP_* each */
};

struct keeper {
	struct keeper_job job;
	struct confine_filter *keeper_calls, *servant_calls;
	int data_fd; /* our end; -1: the keeper is lost */
	int control_fd;
	pid_t pid;        /* of the keeper; 0: none */
	uint64_t lost_ns; /* last attempt to replace the keeper; 0: none yet */
};

/*
 * Forks. The children have no fds but their sockets, and die with the calling thread. No SIGCHLD
 * comes of them, but for the end of the keeper. Returns 0 or negative errno, not marked: there may
 * be a better time; @k is to be given to keeper_deinit() in any case.
 */
int keeper_init(struct keeper *k, const struct keeper_job *job);
/* Waits for the keeper to end, some tenths of a second at most. */
void keeper_deinit(struct keeper *k);
/*
 * Another servant, which takes the requests from @first_id on. False: the keeper is lost, and
 * data_fd closed.
 */
bool keeper_replace(struct keeper *k, uint64_t first_id);
/* Something is wrong with its sockets, which comes to the same as its end: closes them. */
void keeper_lose(struct keeper *k);
/* Tries to have a lost one again, at most once a second. @now_ns: CLOCK_MONOTONIC. */
void keeper_refork(struct keeper *k, uint64_t now_ns);
/*
 * Hands the servant a request; one that was lost is had again first, if it can be. For a caller
 * that has one request under way at most: there is room then. False: there is none at the moment.
 */
bool keeper_send(struct keeper *k, const void *request, size_t length, const int *fds,
		 size_t n_fds);

/* Whether the kernel can confine keepers, and image workers, which do not run without. */
bool keeper_is_confined(void);

#endif
