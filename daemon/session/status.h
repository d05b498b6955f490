/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_STATUS_H
#define PROFD_DAEMON_SESSION_STATUS_H

/* What profd knows of itself, gathered into one message. */
#include <stdint.h>

#include "daemon/control/control.h"
#include "daemon/ledger/lateness.h"
#include "daemon/output/output.h"
#include "daemon/resolve/unwinder.h"
#include "daemon/session/session_set.h"

struct status_last_flush {
	uint64_t started_ns; /* Unix time; 0: none yet */
	double seconds;
	uint32_t n_files;
	int error; /* errno, or 0 */
};

struct status_facts {
	struct session_set *sessions;
	struct process_table *processes;
	struct source *source;
	struct output *output;
	struct unwinder *unwinder;
	const struct lateness *lateness;
	const char *event;
	uint64_t frequency;
	uint64_t attached; /* processes with libprofd */
	const char *store_path;
	uint64_t budget_bytes;
	uint64_t started_ns;         /* CLOCK_MONOTONIC */
	const char *const *warnings; /* NULL-terminated */
	struct status_last_flush last_flush;
};

/* Answers @reply with what @peer may see: sessions of others are left out for the unprivileged. */
int status_reply(const struct status_facts *facts, const struct peer *peer, struct reply *reply);

#endif
