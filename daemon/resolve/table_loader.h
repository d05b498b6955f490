/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_TABLE_LOADER_H
#define PROFD_RESOLVE_TABLE_LOADER_H

/*
 * Has images' call frame information compiled to tables: a queue in front of one image worker
 * (common/worker/worker.h), which gets the open files and reads them in its sandbox, so that
 * neither a slow disk nor a large image delays a drain, nor a crafted one anything else. What it
 * answers is looked at completely before it becomes a result.
 *
 * A large image makes those behind it wait, but only so long: each request's rank is its number
 * and 1 more for each 64 KiB of the file, and the lowest goes first.
 *
 * An image of which the worker died is bad (image.h) and refused; those behind it are asked of the
 * next worker. If no worker can be started, requests wait until one can.
 *
 * What a file's headers say comes with its table, and is published by image_set_headers().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/unwind/cfi.h"
#include "common/unwind/layout.h"
#include "common/worker/protocol.h"
#include "daemon/resolve/image.h"

/* What became of an image. @words (n_words) is the table, by the slot's numbers. */
struct table_result {
	struct image *image;    /* owned reference */
	struct table_slot slot; /* state: LOADED, NO_CFI or REFUSED; ABSENT: no memory for now */
	uint64_t *words;        /* owned, LOADED only */
	size_t n_words;
	bool over_4g;
	struct cfi_counters counters;
	struct worker_runtime runtime;
	/* The owner's: when there may be room for it, and the next one that waits for that. */
	uint64_t retry_ns;
	struct table_result *next;
};

void table_result_free(struct table_result *result);
DEFINE_CLEANUP(struct table_result *, table_result_free)

/* What is known of @image's table without looking into the file; ABSENT: nothing. */
enum table_state table_state_known(const struct image *image);

struct memory_budget;
struct table_loader;

/* @max_words: larger tables are refused. @budget: as in common/worker/worker.h. */
int table_loader_new(struct table_loader **ret, size_t max_words, struct memory_budget *budget);
/* Drops what is asked for, and ends the worker. */
void table_loader_free(struct table_loader *l);
DEFINE_CLEANUP(struct table_loader *, table_loader_free)
/* Queues @image (referenced): IMAGE_FILE with an fd, or IMAGE_VDSO. */
int table_loader_request(struct table_loader *l, struct image *image);
/*
 * Readable when a result may be ready. Those that need no worker, and requests that wait for one
 * that can be started, do not show here: call table_loader_receive() some times a second.
 */
int table_loader_fd(const struct table_loader *l);
/*
 * The next result, the caller's, or NULL: none is ready. Sends what is next to the worker. Returns
 * 0 or negative errno.
 */
int table_loader_receive(struct table_loader *l, struct table_result **ret);

/* Totals. */
struct table_loader_stats {
	uint64_t workers_died;
	uint64_t bad_images; /* of these, those that were an image's fault */
	/* Printable; cut if need be; "" none yet. */
	char last_bad_image[512];
	uint64_t last_bad_ns; /* CLOCK_MONOTONIC of it */
	/* Why no worker can be had at the moment; "": one can, or it was not tried. */
	char trouble[64];
	int worker;       /* its process, or 0 */
	uint64_t used_ns; /* CPU time of this one and those before */
};

void table_loader_get_stats(const struct table_loader *l, struct table_loader_stats *ret);

#endif
