/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_WRITER_PRIVATE_H
#define PROFD_OUTPUT_WRITER_PRIVATE_H

/* What writer.c, writer_files.c and writer_background.c share. */
#include "daemon/output/batch.h"
#include "daemon/output/context.h"
#include "daemon/output/epochs.h"
#include "daemon/output/retention.h"
#include "daemon/output/rollup.h"
#include "daemon/output/steady.h"
#include "daemon/output/view.h"
#include "daemon/output/writer.h"

struct writer {
	struct store *store;
	struct kernel_images *kernel;
	struct symbols *symbols;
	struct epochs epochs;
	struct retention_limits limits;
	struct steady clock;
	bool more_to_delete;
	bool is_read;     /* the store's index holds what is there */
	uint64_t boot_ns; /* CLOCK_BOOTTIME of the opening */
	uint64_t boot_s;  /* the host's start, Unix time */
	struct rollup *rollup;
	size_t background_bytes;
	uint64_t rollup_after_s;  /* 0: never */
	uint64_t rollup_retry_ns; /* Unix time: not before */
	int rollup_error;         /* behind WRITER_NOT_ROLLED_UP */
	uint32_t legacy_max_processes;
	bool no_kernel;
	uint32_t cpuspeed_mhz, cpucount;
	char *host;
	char host_name[NAMES_ESCAPED_MAX + 1]; /* escaped: a folder */
	char release[128];
	int proc_fd, sys_fd; /* owned, or -1 where the world gave them */
	unsigned conditions;
	int error;       /* behind WRITER_FULL, _FAILED and _INCOMPLETE */
	char text[1200]; /* writer_describe() */
};

/* One snapshot on its way into files. */
struct writing {
	struct writer *w;
	const struct snapshot *snapshot;
	const struct view *view;
	struct context context;
	struct batch *batch;
	uint64_t no_user, legacy_dropped;
	bool has_images;
};

/*
 * Deletes what the limits tell, as far as it is done at once; with @need (bytes, after a write
 * found no room) all of it, and as much as that. What is left is for the time between snapshots.
 */
void writer_apply_retention(struct writer *w, uint64_t now_ns, uint64_t need);

/* Adds all files of the snapshot to the batch. Returns 0 or negative errno. */
int writing_add_files(struct writing *g);

#endif
