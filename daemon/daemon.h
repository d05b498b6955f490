/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_H
#define PROFD_DAEMON_H

/*
 * Owns everything and only wires: configuration, store, source, processes, sessions, output,
 * control socket, timers and signals, in one sd-event loop.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct daemon_options {
	const char *config_path;       /* NULL: the default one */
	const char *state_directory;   /* NULL: as configured */
	const char *runtime_directory; /* NULL: as configured */
	const char *cache_directory;   /* NULL: the default one */
	const char *host_name;         /* of this machine; NULL: as the kernel has it */
	const char *source;            /* "bpf", "perf", "replay:FILE"; NULL: the best there is */
	const char *record_replay;     /* file, or NULL */
	uint64_t duration_ns;          /* 0: until stopped */
	bool read_only; /* only answers from the store: samples, writes and changes nothing */
	bool user;      /* for the processes of its own user, without privileges */
};

enum {
	DAEMON_E_OK,
	DAEMON_E_REFUSED, /* cannot start here; was logged */
};

struct daemon;

/* Blocks the signals that the loop handles. Returns DAEMON_E_* or negative errno. */
int daemon_new(struct daemon **ret, const struct daemon_options *options);
void daemon_free(struct daemon *d);
DEFINE_CLEANUP(struct daemon *, daemon_free)

/* Serves until told to stop, then flushes. Returns 0 or negative errno. */
int daemon_run(struct daemon *d);

#endif
