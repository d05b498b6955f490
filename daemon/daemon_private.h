/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_PRIVATE_H
#define PROFD_DAEMON_PRIVATE_H

/* struct daemon: what the loop, the start, the verbs, status, notify and pace are of. */
#include <stdbool.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "common/config/config.h"
#include "common/log.h"
#include "common/text_print.h"
#include "common/user_paths.h"
#include "common/worker/memory.h"
#include "daemon/control/buckets.h"
#include "daemon/control/control.h"
#include "daemon/daemon.h"
#include "daemon/exports_report.h"
#include "daemon/ingest/cpu_causes.h"
#include "daemon/ingest/sources.h"
#include "daemon/lateness.h"
#include "daemon/notify.h"
#include "daemon/output/output.h"
#include "daemon/pace.h"
#include "daemon/rescan.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unwinder.h"
#include "daemon/session/session_set.h"

#define DAEMON_SOURCES_MAX 16

/* Where its things are, and the directories that are open. */
struct daemon_places {
	char *store_path, *socket_path;
	char *fetched_path;     /* of debug files, made by profd-gateway */
	struct user_paths user; /* with --user */
	int store_fd, proc_fd;
};

struct daemon_last_flush {
	uint64_t started_ns; /* Unix time; 0: none yet */
	double seconds;
	uint32_t n_files;
	int error; /* errno, or 0 */
};

struct daemon {
	struct daemon_options options;
	struct config *config;
	struct daemon_places places;
	struct daemon_pace pace;
	struct cpu_causes cpu_causes; /* of the main thread */
	struct daemon_watch watch;
	bool replay;

	/* A sample's way: source -> unwinder -> recorder, if there is one -> sink. */
	struct source_sink sink;
	struct recorder *recorder;
	struct unwinder *unwinder;
	struct source *source;
	struct source *shim; /* of programs with libprofd: `source`, or one beside it; or NULL */
	struct event event;  /* the configured one, resolved */
	struct memory_budget memory; /* shared with the image workers */
	uint64_t helpers_bytes;      /* of other child processes, some seconds ago */
	struct process_table *processes;
	struct file_opener *opener;         /* the output's */
	struct file_copier *copier;         /* the same */
	struct proc_door *door;             /* the main thread's */
	struct group_paths *groups;         /* by the same */
	struct container_files *containers; /* the same */
	struct output *output;
	struct session_set *sessions;
	struct listener *listener;
	struct buckets buckets[2]; /* of uids without privileges, and with */

	sd_event *loop;
	sd_event_source *sources[DAEMON_SOURCES_MAX];
	/* five of them */
	sd_event_source *source_io, *rest_timer, *drain_timer, *window_timer, *rescan_timer;
	size_t n_sources;
	struct daemon_rescan rescan;
	uint64_t started_ns, drained_ns; /* CLOCK_MONOTONIC, as all moments here */
	struct lateness lateness;        /* of drains */
	struct daemon_last_flush last_flush;
	struct texts warnings;          /* of the start */
	struct exports_report exports;  /* the gateway's last one */
	LIST_HEAD(, waiter) collecting; /* operations_output.c */
	bool rings_wait;                /* others have a turn before the next drain */
	bool stopping;
	bool in_trouble;  /* the system session is off, and that is logged */
	bool lacks_waits; /* it has no waits, though they are wanted, and that is logged */
	int error;        /* of a callback that cannot return one */
};

/* Logs why profd cannot start here. */
#define daemon_refuse(...) (log_error(__VA_ARGS__), DAEMON_E_REFUSED)
/* Adds a line to `status`, and logs it. */
#define daemon_warn(d, ...) (log_warning(__VA_ARGS__), texts_printf(&(d)->warnings, __VA_ARGS__))

#define PRIORITY_RINGS (SD_EVENT_PRIORITY_IMPORTANT - 10)
/* All else, as the listener's: one after the other, in the order in which they wait. */
#define PRIORITY_OTHERS SD_EVENT_PRIORITY_NORMAL

/* Has @timer fire once, at @usec of its clock. Returns 0 or negative errno. */
int daemon_rearm(sd_event_source *timer, uint64_t usec);
/* Closes all windows and ends the loop when they are durable; the second time at once. The same. */
int daemon_stop(struct daemon *d);
/* Logs what a client has had done, and which client. */
#define daemon_log_asked(peer, format, ...) \
	log_info(format " (uid %u, pid %d)", ##__VA_ARGS__, (peer)->uid, (peer)->pid)

/* Notes a fatal error that a callback met; the loop ends with it. */
void daemon_fail(struct daemon *d, int error);

#endif
