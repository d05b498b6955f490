/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_TABLE_LOADER_H
#define PROFD_RESOLVE_TABLE_LOADER_H

/*
 * Compiles images' call frame information to tables in a thread of its own, so that neither a slow
 * disk nor a large image delays a drain. The files are strangers': the work is bounded in memory,
 * and nothing but the compiler (common/unwind/cfi.h) and a reader of ELF sections sees them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/unwind/cfi.h"
#include "common/unwind/layout.h"
#include "daemon/resolve/image.h"

/* What became of an image. @words (n_words) is the table, by the slot's numbers. */
struct table_result {
	struct image *image;    /* owned reference */
	struct table_slot slot; /* state: LOADED, NO_CFI or REFUSED */
	uint64_t *words;        /* owned, LOADED only */
	size_t n_words;
	bool over_4g;
	struct cfi_counters counters;
};

void table_result_free(struct table_result *result);
DEFINE_CLEANUP(struct table_result *, table_result_free)

struct table_loader;

/* @max_words: larger tables are refused. */
int table_loader_new(struct table_loader **ret, size_t max_words);
/* Waits for the image that is being worked on; drops the rest. */
void table_loader_free(struct table_loader *l);
DEFINE_CLEANUP(struct table_loader *, table_loader_free)
/* Queues @image (referenced): IMAGE_FILE with an fd, or IMAGE_VDSO. Never blocks. */
int table_loader_request(struct table_loader *l, struct image *image);
/* Readable when there is a result. */
int table_loader_fd(const struct table_loader *l);
/* The next result, the caller's; NULL: none is ready. */
struct table_result *table_loader_take(struct table_loader *l);

/* What the thread does, here for tests and tools: blocks. Returns 0 or -ENOMEM. */
int table_load(struct image *image, size_t max_words, struct table_result **ret);

#endif
