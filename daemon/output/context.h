/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CONTEXT_H
#define PROFD_OUTPUT_CONTEXT_H

/* What the formats need besides the snapshot: the writer's, borrowed by all others. */

#include "common/store/names.h"
#include "daemon/output/kernel_images.h"
#include "daemon/output/symbols.h"

struct context {
	struct symbols *symbols;
	struct kernel_images *kernel;
	char *host;                           /* name of this machine */
	char host_dir[NAMES_ESCAPED_MAX + 1]; /* the same, escaped: a directory's name */
	char release[128];                    /* of its kernel */
	uint32_t cpuspeed_mhz, cpucount;      /* 0: unknown */
	uint64_t boot_s;                      /* its start, Unix time; 0: unknown */
	uint32_t legacy_max_processes;        /* 0: all */
	size_t text_bytes;                    /* bound for the texts of one profile */
};

/*
 * Fills in what is known of this machine, by @proc_fd of /proc; @host: its name, NULL: as the
 * kernel has it. c->host is the caller's. 0 or negative errno.
 */
int context_read_host(struct context *c, const char *host, int proc_fd);

/*
 * The lines that tell where a profile comes from, "# profd name: value", each ended by a newline:
 * version, host, kernel, CPUs, event, frequency or period, ledger. malloc'ed, the caller's.
 */
struct snapshot;
int context_describe(const struct context *c, const struct snapshot *s, char **ret);

#endif
