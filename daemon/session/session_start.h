/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_START_H
#define PROFD_DAEMON_SESSION_SESSION_START_H

/*
 * From what somebody asked for to a session that could run: defaults filled in, event resolved,
 * named, and, where the target is a process, that process found.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/control/control.h"
#include "daemon/ingest/source.h"
#include "daemon/resolve/process.h"
#include "daemon/session/session.h"

/* How windows and sessions are made; copied, lists and texts borrowed. */
struct session_defaults {
	uint64_t interval_ns;
	struct session_writing writing;
	struct event event;
	uint64_t frequency;
	bool kernel_stacks;
	uint32_t max_depth;
	uint32_t max_sessions;
	uint64_t memory_bytes; /* for all open windows and all that are being written */
	char **exclude_services, **exclude_comms;
};

/* How long a session that is to be held goes on with nobody who does. */
#define SESSION_UNHELD_NS UINT64_C(10000000000)

enum {
	SESSION_START_E_OK,
	SESSION_START_E_REFUSED, /* see the message */
};
#define session_refuse(message, ...) \
	(snprintf((message)->text, sizeof((message)->text), __VA_ARGS__), SESSION_START_E_REFUSED)

/* The event and rate that are configured. */
void session_default_spec(const struct session_defaults *defaults, struct sampler_spec *ret);
/* Makes a session. Returns SESSION_START_E_* with @message, or negative errno. */
int session_prepare(struct session **ret, uint64_t id, const struct session_defaults *defaults,
		    const struct peer *peer, const struct session_request *request,
		    struct source_message *message);
/*
 * Finds the process that a PID or TID target means, and its descendants if they are wanted.
 * @pidfd: of the process that was asked for, or -1. Returns SESSION_START_E_* with @message, or
 * negative errno.
 */
int session_resolve_target(struct session *s, struct process_table *processes, int proc_fd,
			   int pidfd, struct source_message *message);

#endif
