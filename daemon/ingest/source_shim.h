/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_SHIM_H
#define PROFD_INGEST_SOURCE_SHIM_H

/*
 * The source that needs no privileges: processes with libprofd.so sample themselves, walk their own
 * stacks, and write them into rings that profd made (common/shim). A process is attached when it
 * asks for a ring; it ticks as fast as the fastest sampler that wants it, and not at all while none
 * does.
 *
 * Everything in a ring is a stranger's word. What a stack's addresses mean is looked up in the
 * mappings that the kernel shows, and ticks are believed as far as the process had CPU time
 * (shim_limits.h).
 */
#include <sys/types.h>

#include "common/shim/attach.h"
#include "daemon/ingest/source.h"

/*
 * What the source needs of others: the kernel tells it no process events. Each function tells them
 * to the sink of the source's options, before it returns.
 */
struct source_shim_host {
	/*
	 * Another program of @pid, and what it has mapped. *ret_start_ns as in struct sample.
	 * Returns SOURCE_E_OK, _GONE or negative errno.
	 */
	int (*begin)(void *userdata, pid_t pid, uint64_t *ret_start_ns);
	/* What it has mapped now, as of @time_ns. Returns 0 or negative errno. */
	int (*look)(void *userdata, pid_t pid, uint64_t time_ns);
	void *userdata;
};

struct source_shim_options {
	struct source_options source;
	struct source_shim_host host;
	/*
	 * Another source samples, and tells of processes: no sampler will be added, nothing is told
	 * to anybody, and all that a ring costs is the page before it.
	 */
	bool is_idle;
};

int source_shim_new(struct source **ret, const struct source_shim_options *options);

struct source_shim_process {
	pid_t pid;
	uid_t uid;
	bool privileged; /* the limits for strangers do not hold */
};

/*
 * Makes a ring for a process. What was attached of the same pid before has ended by that. @pidfd is
 * taken over, whatever happens. *ret_ring is borrowed until source_shim_sent(): its fds are for the
 * process. Returns SOURCE_E_OK, _FULL or _GONE with @message, or negative errno.
 */
int source_shim_attach(struct source *source, const struct source_shim_process *process, int pidfd,
		       const struct attach_ring **ret_ring, struct source_message *message);
/* The fds were sent, and it took them or not. */
void source_shim_sent(struct source *source, pid_t pid, bool is_taken);

/* Whether @pid has a ring now; how many have. */
bool source_shim_has(struct source *source, pid_t pid);
unsigned source_shim_count(struct source *source);

#endif
