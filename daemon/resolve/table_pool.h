/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_TABLE_POOL_H
#define PROFD_RESOLVE_TABLE_POOL_H

/*
 * The tables of unwind rules in the memory that walks read: which image has which slot, where its
 * words are, who must go when there is no room. Alone writes the words and the slots (but for
 * used_s, which searchers write).
 *
 * An image gets its slot when a walk or a published mapping first needs a number for it, and keeps
 * it while a published mapping refers to it. Its table is absent until somebody asked for it and
 * it was compiled. Images that nothing maps any more keep their tables for some minutes: the next
 * process of a program that is started again and again finds them there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/unwind/layout.h"
#include "daemon/resolve/image.h"
#include "daemon/resolve/table_loader.h"

/* What was freed rests as long: layout.h, "Reuse". */
#define TABLE_POOL_REST_NS NS_PER_S

/* The memory, borrowed; what it holds at the beginning does not matter. */
struct table_memory {
	uint64_t *words;
	size_t n_words;
	struct table_slot *slots;
	size_t n_slots;
};

struct table_pool;
struct unwinder_stats; /* unwinder.h */

/* @stats: where tables are counted, borrowed. */
int table_pool_new(struct table_pool **ret, const struct table_memory *memory,
		   struct unwinder_stats *stats);
void table_pool_free(struct table_pool *p);
DEFINE_CLEANUP(struct table_pool *, table_pool_free)

/*
 * The slot of @image, which gets one if need be; SLOT_NONE in *ret for what is no file and no vdso,
 * and where no slot is free. Returns 0 or -ENOMEM.
 */
int table_pool_slot(struct table_pool *p, struct image *image, uint64_t now_ns, uint32_t *ret);
/* Whether walks need not wait for @image: its table is there, or it is known to have none. */
bool table_pool_is_ready(const struct table_pool *p, const struct image *image);
/* A published mapping refers to @slot, or does so no more. SLOT_NONE is allowed. */
void table_pool_hold(struct table_pool *p, uint32_t slot);
void table_pool_release(struct table_pool *p, uint32_t slot);

enum {
	TABLE_POOL_E_OK,
	TABLE_POOL_E_FULL,    /* no room for the table at the moment */
	TABLE_POOL_E_LATER,   /* it failed a moment ago */
	TABLE_POOL_E_PENDING, /* it was asked for already */
};

/*
 * The image of the absent table at @slot, borrowed, for a loader: it is pending from then on, until
 * the result is installed. Returns TABLE_POOL_E_OK, _PENDING or _LATER.
 */
int table_pool_request(struct table_pool *p, uint32_t slot, uint64_t now_ns, struct image **ret);
/*
 * A result for what was requested. *ret_slot is its slot, whatever comes of it. Returns
 * TABLE_POOL_E_OK; _LATER: it could not be compiled for now; _FULL: others were evicted as far as
 * that is possible, try again with the same result when TABLE_POOL_REST_NS have passed, or drop it
 * by table_pool_drop(); or -ENOMEM.
 */
int table_pool_install(struct table_pool *p, const struct table_result *result, uint64_t now_ns,
		       uint32_t *ret_slot);
void table_pool_drop(struct table_pool *p, const struct table_result *result, uint64_t now_ns);
/* Forgets images that nothing needs, and makes some room. About once a second. */
void table_pool_sweep(struct table_pool *p, uint64_t now_ns);

#endif
