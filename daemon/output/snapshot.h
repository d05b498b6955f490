/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SNAPSHOT_H
#define PROFD_OUTPUT_SNAPSHOT_H

/*
 * One closed window of one session: everything that is needed to write it, immutable, handed from
 * the main thread to the output thread, which frees it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/store/contents.h"
#include "daemon/aggregate/aggregate.h"
#include "daemon/ingest/code_book.h"
#include "daemon/resolve/jit_files.h"
#include "daemon/resolve/mappings.h"

/*
 * What a process is counted under, each NULL where there is none; service: unescaped; cgroup: a
 * path; container: its name, or where that is not known its id. Another one is a row here.
 */
/* clang-format off */
#define SNAPSHOT_TEXTS(X) \
	X(service)        \
	X(cgroup)         \
	X(container)      \
	X(pod)            \
	X(namespace)      \
	X(image)
/* clang-format on */

/*
 * One program that ran in one process (an exec begins another), as long as it was in one unit;
 * texts are owned.
 */
struct snapshot_process {
	uint64_t serial;         /* as in the aggregate's entries */
	uint64_t program_serial; /* the same for all units that the program was in */
	pid_t pid;
	bool kernel_thread;
	char comm[16];
#define SNAPSHOT_TEXT(text) char *text;
	SNAPSHOT_TEXTS(SNAPSHOT_TEXT)
	struct image *program;     /* the main program's image, or NULL; owned reference */
	struct mappings *mappings; /* or NULL; owned reference */
	/* Where the code that it generates has names; or NULL; owned references. */
	struct jit_file *perf_map, *jitdump;
};

/* Frees what it owns; takes one that is all zero. */
void snapshot_process_deinit(struct snapshot_process *p);

struct snapshot {
	uint64_t session;   /* 0: the system session */
	char *session_name; /* "<id>-<name>", its directory; NULL for the system session */
	uid_t owner;        /* of a session from `profctl start` */
	bool has_share;     /* its files take the owner's share of the store */
	uint64_t start_ns;  /* Unix time; window start */
	uint64_t duration_ns;
	int64_t times_moved_ns; /* to be added to times in the aggregate: the wall clock was set */
	unsigned formats;       /* FORMAT_* */
	unsigned labels;        /* LABEL_* */
	enum symbolize symbolize;
	bool hide_kernel; /* kernel frames are not to be written */

	char event[32];     /* canonical name, e.g. "cpu-clock" */
	bool is_clock;      /* weights are nanoseconds: of CPU time, or "off-cpu": without a CPU */
	uint64_t period;    /* events (clock: nanoseconds) per sample */
	uint64_t frequency; /* Hz, or 0 where a period was asked for */
	/* The same of waits that were sampled beside the event; period 0: they were not. */
	uint64_t off_cpu_period, off_cpu_frequency;
	bool has_latency; /* entries with CPU time have theirs */

	/* The ledger of this window, without newline or "# ": of the event, and of waits or NULL.
	 */
	char *ledger, *off_cpu_ledger;

	struct code_volumes codes;          /* owned references */
	struct aggregate *aggregate;        /* owned */
	struct snapshot_process *processes; /* owned, ascending serial */
	size_t n_processes;
};

/* Frees all; takes NULL and half-built ones. */
void snapshot_free(struct snapshot *s);
DEFINE_CLEANUP(struct snapshot *, snapshot_free)

#endif
