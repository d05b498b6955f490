/* SPDX-License-Identifier: MIT */
/*
 * A hash by the image's id, and an array by slot, lead to the same entries. An entry references its
 * image, so that neither the image table nor a reused number pulls it away from under a walk.
 *
 * How a table changes (layout.h): unlink (state absent, version raised), wait, write words, link
 * (state written last, with release order: the readers are in the kernel).
 */
#include "daemon/resolve/table_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/resolve/extents.h"
#include "daemon/resolve/unwinder.h"

/* A table that was searched so recently is not evicted. */
#define BUSY_S 2u
/* Nor is one just to keep some room, if it was searched so recently. */
#define WARM_S 10u
/* This part of the words is kept free, so that a new image need not wait. */
#define HEADROOM 16
/* Images that nothing maps: kept for so long, and so many. Each is an open file. */
#define IDLE_KEEP_S 300u
#define IDLE_MAX    256u
/* After a failure. */
#define RETRY_NS (2 * NS_PER_S)

struct table_pool_entry {
	uint64_t id; /* of the image */
	struct image *image;
	uint32_t slot;
	unsigned n_holds;
	bool is_pending;
	uint64_t retry_ns;
	size_t first, n_words, n_rows; /* loaded */
	UT_hash_handle hh;
};

struct table_pool {
	struct table_memory memory;
	struct extents *words, *slots;
	struct table_pool_entry *entries;
	struct table_pool_entry **by_slot;
	struct unwinder_stats *stats;
};

static uint32_t table_pool_seconds(uint64_t now_ns)
{
	return (uint32_t)(now_ns / NS_PER_S);
}

int table_pool_new(struct table_pool **ret, const struct table_memory *memory,
		   struct unwinder_stats *stats)
{
	cleanup(table_pool_freep) struct table_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->memory = *memory;
	p->stats = stats;
	p->by_slot = calloc(memory->n_slots ? memory->n_slots : 1,
			    sizeof(struct table_pool_entry *));
	if (!p->by_slot)
		return error_origin(-ENOMEM);
	r = extents_new(&p->words, memory->n_words, TABLE_POOL_REST_NS)
		    ?: extents_new(&p->slots, memory->n_slots, TABLE_POOL_REST_NS);
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return 0;
}

static void set_state(struct table_slot *slot, enum table_state state)
{
	__atomic_store_n(&slot->state, (uint32_t)state, __ATOMIC_RELEASE);
}

/* From here on no new walk gets into the table; those that are in it see the version change. */
static void unlink_table(struct table_pool *p, struct table_pool_entry *e, uint64_t now_ns)
{
	struct table_slot *slot = &p->memory.slots[e->slot];

	set_state(slot, TABLE_ABSENT);
	__atomic_store_n(&slot->version, slot->version + 1, __ATOMIC_RELEASE);
	if (!e->n_words)
		return;
	extents_release(p->words, e->first, e->n_words, now_ns);
	p->stats->tables--;
	p->stats->rows -= e->n_rows;
	p->stats->table_bytes -= e->n_words * sizeof(uint64_t);
	e->n_words = 0;
	e->n_rows = 0;
}

static void entry_free(struct table_pool *p, struct table_pool_entry *e, uint64_t now_ns)
{
	unlink_table(p, e, now_ns);
	extents_release(p->slots, e->slot, 1, now_ns);
	p->by_slot[e->slot] = NULL;
	HASH_DEL(p->entries, e);
	image_unref(e->image);
	free(e);
}

void table_pool_free(struct table_pool *p)
{
	struct table_pool_entry *e, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->entries, e, next)
		entry_free(p, e, 0);
	extents_free(p->words);
	extents_free(p->slots);
	free(p->by_slot);
	free(p);
}

static struct table_pool_entry *table_pool_find(const struct table_pool *p,
						const struct image *image)
{
	struct table_pool_entry *e;

	HASH_FIND(hh, p->entries, &image->id, sizeof(image->id), e);
	return e;
}

static struct table_pool_entry *table_pool_entry(const struct table_pool *p, uint32_t slot)
{
	return slot < p->memory.n_slots ? p->by_slot[slot] : NULL;
}

static int entry_new(struct table_pool *p, struct image *image, uint64_t now_ns,
		     struct table_pool_entry **ret)
{
	struct table_pool_entry *e;
	struct table_slot *slot;
	size_t at_slot;
	int r;

	r = extents_allocate(p->slots, 1, now_ns, &at_slot);
	if (r) {
		p->stats->no_slot += r > 0;
		return r;
	}
	e = calloc(1, sizeof(*e));
	if (!e) {
		extents_release(p->slots, at_slot, 1, now_ns);
		return error_origin(-ENOMEM);
	}
	e->id = image->id;
	e->image = image_ref(image);
	e->slot = (uint32_t)at_slot;
	p->by_slot[at_slot] = e;
	HASH_ADD(hh, p->entries, id, sizeof(e->id), e);
	slot = &p->memory.slots[at_slot];
	*slot = (struct table_slot){.version = slot->version + 1,
				    .used_s = table_pool_seconds(now_ns)};
	set_state(slot, table_state_known(image));
	p->stats->tables_refused += slot->state == TABLE_REFUSED;
	*ret = e;
	return 0;
}

int table_pool_slot(struct table_pool *p, struct image *image, uint64_t now_ns, uint32_t *ret)
{
	struct table_pool_entry *e;
	int r;

	*ret = SLOT_NONE;
	if (image->kind != IMAGE_FILE && image->kind != IMAGE_VDSO)
		return 0;
	e = table_pool_find(p, image);
	if (!e) {
		r = entry_new(p, image, now_ns, &e);
		if (r)
			return r < 0 ? r : 0;
	}
	*ret = e->slot;
	return 0;
}

bool table_pool_is_ready(const struct table_pool *p, const struct image *image)
{
	const struct table_pool_entry *e = table_pool_find(p, image);

	return (e ? p->memory.slots[e->slot].state : table_state_known(image)) != TABLE_ABSENT;
}

void table_pool_hold(struct table_pool *p, uint32_t slot)
{
	struct table_pool_entry *e = table_pool_entry(p, slot);

	if (e)
		e->n_holds++;
}

void table_pool_release(struct table_pool *p, uint32_t slot)
{
	struct table_pool_entry *e = table_pool_entry(p, slot);

	if (e && e->n_holds)
		e->n_holds--;
}

int table_pool_request(struct table_pool *p, uint32_t slot, uint64_t now_ns, struct image **ret)
{
	struct table_pool_entry *e = table_pool_entry(p, slot);

	if (!e || p->memory.slots[slot].state != TABLE_ABSENT || now_ns < e->retry_ns)
		return TABLE_POOL_E_LATER;
	if (e->is_pending)
		return TABLE_POOL_E_PENDING;
	e->is_pending = true;
	*ret = e->image;
	return TABLE_POOL_E_OK;
}

/* The loaded table that was searched longest ago, and not within @spared_s; NULL: none. */
static struct table_pool_entry *least_used(struct table_pool *p, uint32_t now_s, uint32_t spared_s)
{
	struct table_pool_entry *e, *next, *found = NULL;
	uint32_t oldest = spared_s;

	HASH_ITER (hh, p->entries, e, next) {
		/* A searcher's clock may be a moment ahead. */
		int32_t age = (int32_t)(now_s - p->memory.slots[e->slot].used_s);

		if (!e->n_words || age < 0 || (uint32_t)age <= oldest)
			continue;
		oldest = (uint32_t)age;
		found = e;
	}
	return found;
}

/* Evicts until @n_words more are unused than there were, or nobody is left to go. */
static void table_pool_make_room(struct table_pool *p, size_t n_words, uint64_t now_ns,
				 uint32_t spared_s)
{
	size_t goal = extents_unused(p->words) + n_words;
	struct table_pool_entry *e;

	while (extents_unused(p->words) < goal &&
	       (e = least_used(p, table_pool_seconds(now_ns), spared_s))) {
		unlink_table(p, e, now_ns);
		p->stats->tables_evicted++;
	}
}

static void link_table(struct table_pool *p, struct table_pool_entry *e,
		       const struct table_result *result, size_t first, uint64_t now_ns)
{
	struct table_slot *slot = &p->memory.slots[e->slot];

	if (result->n_words)
		memcpy(p->memory.words + first, result->words, result->n_words * sizeof(uint64_t));
	slot->first = (uint32_t)first;
	slot->n_rules = result->slot.n_rules;
	slot->n_chunks = result->slot.n_chunks;
	slot->first_chunk = result->slot.first_chunk;
	slot->n_rows = result->slot.n_rows;
	slot->used_s = table_pool_seconds(now_ns);
	__atomic_store_n(&slot->version, slot->version + 1, __ATOMIC_RELEASE);
	set_state(slot, result->slot.state);
	e->first = first;
	e->n_words = result->n_words;
	e->n_rows = result->slot.n_rows;
}

static void table_pool_count_result(struct table_pool *p, const struct table_result *result)
{
	struct unwinder_stats *stats = p->stats;

	stats->images_over_4g += result->over_4g;
	stats->tables_refused += result->slot.state == TABLE_REFUSED;
	if (result->slot.state != TABLE_LOADED)
		return;
	stats->tables_loaded++;
	stats->tables++;
	stats->rows += result->slot.n_rows;
	stats->table_bytes += result->n_words * sizeof(uint64_t);
	stats->rules_expression += result->counters.expression;
	stats->rules_unfit += result->counters.unfit;
}

int table_pool_install(struct table_pool *p, const struct table_result *result, uint64_t now_ns,
		       uint32_t *ret_slot)
{
	struct table_pool_entry *e = table_pool_find(p, result->image);
	size_t first = 0;
	int r;

	*ret_slot = e ? e->slot : SLOT_NONE;
	if (!e || !e->is_pending)
		return TABLE_POOL_E_OK;
	if (result->slot.state == TABLE_ABSENT) {
		table_pool_drop(p, result, now_ns);
		return TABLE_POOL_E_LATER;
	}
	if (result->n_words) {
		r = extents_allocate(p->words, result->n_words, now_ns, &first);
		if (r < 0)
			return r;
		if (r) {
			table_pool_make_room(p, result->n_words, now_ns, BUSY_S);
			return TABLE_POOL_E_FULL;
		}
	}
	link_table(p, e, result, first, now_ns);
	table_pool_count_result(p, result);
	e->is_pending = false;
	return TABLE_POOL_E_OK;
}

void table_pool_drop(struct table_pool *p, const struct table_result *result, uint64_t now_ns)
{
	struct table_pool_entry *e = table_pool_find(p, result->image);

	if (!e)
		return;
	e->is_pending = false;
	e->retry_ns = now_ns + RETRY_NS;
}

/* Held by nothing but us and the image table, or not even that. */
static bool is_idle(const struct table_pool_entry *e)
{
	return !e->n_holds && !e->is_pending && atomic_load(&e->image->n_references) <= 2;
}

/* Nobody will start it again: it was deleted, or replaced by another file. */
static bool image_file_is_deleted(const struct image *image)
{
	struct stat st;

	return image->fd >= 0 && (fstat(image->fd, &st) < 0 || st.st_nlink == 0);
}

void table_pool_sweep(struct table_pool *p, uint64_t now_ns)
{
	uint32_t now_s = table_pool_seconds(now_ns);
	size_t unused = extents_unused(p->words), wanted = p->memory.n_words / HEADROOM;
	struct table_pool_entry *e, *next;
	unsigned n_idle = 0;

	HASH_ITER (hh, p->entries, e, next) {
		int32_t age = (int32_t)(now_s - p->memory.slots[e->slot].used_s);

		if (!is_idle(e))
			continue;
		if (p->memory.slots[e->slot].state == TABLE_ABSENT || age > (int32_t)IDLE_KEEP_S ||
		    n_idle == IDLE_MAX || image_file_is_deleted(e->image))
			entry_free(p, e, now_ns);
		else
			n_idle++;
	}
	if (unused < wanted)
		table_pool_make_room(p, wanted - unused, now_ns, WARM_S);
}
