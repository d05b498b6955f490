/* SPDX-License-Identifier: MIT */
/*
 * Tables of the same make: stacks, thread names, what ends waits, and the entries that count; and
 * the frames of all stacks, one after the other. The growth of each is known before it happens, so
 * that it can be counted against max_bytes, which is never passed.
 *
 * Hash tables are those of common/profile: open addressing, 8 bytes a slot, no pointer chase on the
 * way of every sample, and keyed, as profiled programs choose the stacks. All of a thing is
 * compared, so that a hash collision never merges two.
 *
 * The times of an entry are a list through one array (times.h), the newest first: samples come in
 * the order of time, nearly.
 */
#include "daemon/aggregate/aggregate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"
#include "common/profile/sample_times.h"
#include "daemon/aggregate/times.h"

/* Of an entry; what comes behind is counted. No padding in between. */
#define AGGREGATE_KEY_BYTES offsetof(struct aggregate_entry, times)

#define TABLE_MIN    64u         /* things */
#define TIMES_SHARE  8           /* this part of the memory is for times */
#define FRAMES_BYTES (64 * 1024) /* more of them at a time, if that is enough for a stack */

struct thread_name {
	char text[16];
};

/* A stack whose frames begin with aggregate.frames[first]. */
struct aggregate_stack {
	uint64_t first;
	uint32_t n_frames;
	uint16_t n_kernel;
	uint8_t quality, reason;
};

/* Things by number, and a table that finds them by what they begin with. */
struct aggregate_table {
	size_t size, key_bytes; /* of a thing */
	void *all;
	uint32_t n, capacity;
	struct profile_table slots;
};

struct aggregate {
	size_t max_bytes;
	struct aggregate_table stacks, names, wakers, entries;
	uint64_t *frames;
	size_t n_frames, max_frames;
	struct profile_hash_key hash_key;
	uint64_t count;
	uint32_t last;   /* entry that was counted */
	bool only_known; /* an add that needs anything new is refused */
	bool has_latency;
	uint64_t *latencies; /* by entry, as many as there is room for entries, but for new ones */
	uint32_t n_latencies;
	struct times times;
};

int aggregate_new(struct aggregate **ret, size_t max_bytes)
{
	struct aggregate *a = calloc(1, sizeof(*a));

	if (!a)
		return error_origin(-ENOMEM);
	a->max_bytes = max_bytes;
	a->stacks.size = sizeof(struct aggregate_stack);
	a->names.size = a->names.key_bytes = sizeof(struct thread_name);
	a->wakers.size = a->wakers.key_bytes = sizeof(struct aggregate_waker);
	a->entries.size = sizeof(struct aggregate_entry);
	a->entries.key_bytes = AGGREGATE_KEY_BYTES;
	profile_hash_key_init(&a->hash_key);
	*ret = a;
	return 0;
}

static void aggregate_table_deinit(struct aggregate_table *t)
{
	free(t->all);
	profile_table_deinit(&t->slots);
}

void aggregate_free(struct aggregate *a)
{
	if (!a)
		return;
	aggregate_table_deinit(&a->stacks);
	aggregate_table_deinit(&a->names);
	aggregate_table_deinit(&a->wakers);
	aggregate_table_deinit(&a->entries);
	free(a->frames);
	free(a->latencies);
	times_deinit(&a->times);
	free(a);
}

/*
 * How many things there is room for once one more is added. A full table grows by a quarter: if it
 * were doubled, much of max_bytes could not be used.
 */
static uint32_t aggregate_table_next(const struct aggregate_table *t)
{
	const uint32_t more = t->capacity / 4 > TABLE_MIN ? t->capacity / 4 : TABLE_MIN;

	return t->n < t->capacity ? t->capacity : t->capacity + more;
}

/* Bytes that the next aggregate_table_add() allocates. */
static size_t aggregate_table_growth(const struct aggregate_table *t)
{
	return (size_t)(aggregate_table_next(t) - t->capacity) * t->size +
	       profile_table_growth(&t->slots);
}

/* A copy of @thing, which is found by @hash, becomes number *ret. */
static int aggregate_table_add(struct aggregate_table *t, uint32_t hash, const void *thing,
			       uint32_t *ret)
{
	const uint32_t bigger = aggregate_table_next(t);
	void *moved;
	int r;

	if (t->n == t->capacity) {
		if (bigger < t->capacity)
			return error_origin(-E2BIG);
		moved = reallocarray(t->all, bigger, t->size);
		if (!moved)
			return error_origin(-ENOMEM);
		t->all = moved;
		t->capacity = bigger;
	}
	r = profile_table_reserve(&t->slots);
	if (r)
		return r;
	memcpy((char *)t->all + t->n * t->size, thing, t->size);
	profile_table_insert(&t->slots, hash, t->n);
	*ret = t->n++;
	return AGGREGATE_E_OK;
}

static bool aggregate_has_room(const struct aggregate *a, size_t growth)
{
	return !growth || aggregate_bytes(a) + growth <= a->max_bytes;
}

static int aggregate_is_thing(const void *owner, uint32_t index, const void *key)
{
	const struct aggregate_table *t = owner;

	return memcmp((const char *)t->all + index * t->size, key, t->key_bytes) == 0;
}

/* Bytes that the latencies take more when an entry is added. */
static size_t aggregate_latencies_growth(const struct aggregate *a)
{
	const uint32_t next = aggregate_table_next(&a->entries);

	return a->has_latency && next > a->n_latencies ? (next - a->n_latencies) * sizeof(uint64_t)
						       : 0;
}

/* As many as there is room for entries. */
static int aggregate_make_latencies(struct aggregate *a)
{
	const uint32_t n = a->entries.capacity;
	uint64_t *moved;

	if (!a->has_latency || n <= a->n_latencies)
		return 0;
	moved = reallocarray(a->latencies, n, sizeof(*moved));
	if (!moved)
		return error_origin(-ENOMEM);
	memset(moved + a->n_latencies, 0, (n - a->n_latencies) * sizeof(*moved));
	a->latencies = moved;
	a->n_latencies = n;
	return 0;
}

int aggregate_want_latency(struct aggregate *a)
{
	a->has_latency = true;
	return aggregate_make_latencies(a);
}

/* The number of @thing in @t, to which it is added if need be. AGGREGATE_E_* or negative errno. */
static int aggregate_intern(struct aggregate *a, struct aggregate_table *t, const void *thing,
			    uint32_t *ret)
{
	uint32_t hash = profile_hash(&a->hash_key, thing, t->key_bytes);
	size_t growth = aggregate_table_growth(t);

	*ret = profile_table_find(&t->slots, hash, aggregate_is_thing, t, thing);
	if (*ret != PROFILE_NONE)
		return AGGREGATE_E_OK;
	if (a->only_known)
		return AGGREGATE_E_NEW;
	if (t == &a->entries)
		growth += aggregate_latencies_growth(a);
	if (!aggregate_has_room(a, growth))
		return AGGREGATE_E_FULL;
	return aggregate_table_add(t, hash, thing, ret);
}

/* Bytes that room for @bytes of frames more takes. */
static size_t frames_growth(const struct aggregate *a, size_t bytes)
{
	if (a->frames && (a->max_frames - a->n_frames) * sizeof(uint64_t) >= bytes)
		return 0;
	return bytes > FRAMES_BYTES ? bytes : FRAMES_BYTES;
}

static int aggregate_add_frames(struct aggregate *a, const uint64_t *frames, size_t bytes)
{
	size_t growth = frames_growth(a, bytes);

	if (growth) {
		uint64_t *moved = realloc(a->frames, a->max_frames * sizeof(*moved) + growth);

		if (!moved)
			return error_origin(-ENOMEM);
		a->frames = moved;
		a->max_frames += growth / sizeof(*moved);
	}
	if (bytes)
		memcpy(a->frames + a->n_frames, frames, bytes);
	a->n_frames += bytes / sizeof(uint64_t);
	return 0;
}

static int aggregate_is_stack(const void *owner, uint32_t index, const void *key)
{
	const struct stack known = aggregate_stack(owner, index), *stack = key;

	return known.n_frames == stack->n_frames && known.n_kernel == stack->n_kernel &&
	       known.quality == stack->quality && known.reason == stack->reason &&
	       (!known.n_frames ||
		memcmp(known.frames, stack->frames, known.n_frames * sizeof(uint64_t)) == 0);
}

static int aggregate_intern_stack(struct aggregate *a, const struct stack *stack, uint32_t *ret)
{
	const struct aggregate_stack added = {.first = a->n_frames,
					      .n_frames = stack->n_frames,
					      .n_kernel = stack->n_kernel,
					      .quality = stack->quality,
					      .reason = stack->reason};
	size_t bytes = stack->n_frames * sizeof(uint64_t);
	/* How a walk ended makes no other hash: most stacks of the same frames ended alike. */
	uint32_t hash = profile_hash(&a->hash_key, stack->frames, bytes);
	int r;

	*ret = profile_table_find(&a->stacks.slots, hash, aggregate_is_stack, a, stack);
	if (*ret != PROFILE_NONE)
		return AGGREGATE_E_OK;
	if (a->only_known)
		return AGGREGATE_E_NEW;
	if (!aggregate_has_room(a, frames_growth(a, bytes) + aggregate_table_growth(&a->stacks)))
		return AGGREGATE_E_FULL;
	r = aggregate_add_frames(a, stack->frames, bytes);
	return r ? r : aggregate_table_add(&a->stacks, hash, &added, ret);
}

static int aggregate_intern_name(struct aggregate *a, const char *text, uint32_t *ret)
{
	struct thread_name name = {0};

	memcpy(name.text, text, strnlen(text, sizeof(name.text) - 1));
	return aggregate_intern(a, &a->names, &name, ret);
}

int aggregate_add_waker(struct aggregate *a, const struct aggregate_key *key, bool by_interrupt,
			uint32_t *ret)
{
	struct aggregate_waker wanted = {.process = key->process,
					 .generation = key->generation,
					 .by_interrupt = by_interrupt};
	int r = aggregate_intern_name(a, key->thread_name, &wanted.thread_name)
			?: aggregate_intern_stack(a, &key->stack, &wanted.stack)
			?: aggregate_intern(a, &a->wakers, &wanted, ret);

	*ret = r ? 0 : *ret + 1;
	return r;
}

const struct aggregate_waker *aggregate_waker(const struct aggregate *a, uint32_t waker)
{
	return (const struct aggregate_waker *)a->wakers.all + waker - 1;
}

uint32_t aggregate_n_wakers(const struct aggregate *a)
{
	return a->wakers.n;
}

/* All but the time; *ret: the entry. */
static int aggregate_add_counts(struct aggregate *a, const struct aggregate_key *key,
				uint64_t count, uint64_t weight, uint32_t *ret)
{
	struct aggregate_entry wanted = {.process = key->process,
					 .generation = key->generation,
					 .tid = key->tid,
					 .wait = key->wait,
					 .waker = key->waker};
	struct aggregate_entry *entry;
	uint32_t id;
	int r = aggregate_intern_name(a, key->thread_name, &wanted.thread_name)
			?: aggregate_intern_stack(a, &key->stack, &wanted.stack)
			?: aggregate_intern(a, &a->entries, &wanted, &id)
			?: aggregate_make_latencies(a);

	if (r)
		return r;
	entry = (struct aggregate_entry *)a->entries.all + id;
	entry->count += count;
	entry->weight += weight;
	a->count += count;
	a->last = *ret = id;
	return AGGREGATE_E_OK;
}

uint32_t aggregate_last(const struct aggregate *a)
{
	return a->last;
}

void aggregate_add_latency(struct aggregate *a, uint32_t entry, uint64_t ns)
{
	a->latencies[entry] += ns;
}

uint64_t aggregate_latency(const struct aggregate *a, const struct aggregate_entry *e)
{
	return a->has_latency ? a->latencies[e - (const struct aggregate_entry *)a->entries.all]
			      : 0;
}

/* Makes room for one time more; the times have become coarser then, or are given up. */
static int aggregate_make_room_for_time(struct aggregate *a)
{
	size_t growth;
	int r = 0;

	while (!r && !a->times.is_off && (growth = times_growth(&a->times)) != 0 &&
	       (times_bytes(&a->times) + growth > a->max_bytes / TIMES_SHARE ||
		!aggregate_has_room(a, growth)))
		r = times_coarsen(&a->times, a->entries.all, a->entries.n);
	return r;
}

static int aggregate_add_time(struct aggregate *a, uint32_t id, uint64_t bucket, uint64_t count)
{
	struct aggregate_entry *entry = (struct aggregate_entry *)a->entries.all + id;
	int r;

	if (!bucket || a->times.is_off || times_count(&a->times, entry, bucket, count))
		return AGGREGATE_E_OK;
	r = aggregate_make_room_for_time(a);
	return r || a->times.is_off ? r : times_add(&a->times, entry, bucket, count);
}

int aggregate_add(struct aggregate *a, const struct aggregate_key *key, uint64_t count,
		  uint64_t weight)
{
	uint32_t id;
	int r = aggregate_add_counts(a, key, count, weight, &id);

	if (r || key->wait)
		return r;
	return aggregate_add_time(a, id, key->time_ns / PROFILE_BUCKET_NS, count);
}

int aggregate_add_known(struct aggregate *a, const struct aggregate_key *key, uint64_t count,
			uint64_t weight)
{
	int r;

	a->only_known = true;
	r = aggregate_add(a, key, count, weight);
	a->only_known = false;
	return r;
}

/* The waker of @e, which is in @from. Without room for it, it is unknown. */
static int aggregate_copy_waker(struct aggregate *a, const struct aggregate *from,
				const struct aggregate_entry *e, uint32_t *ret)
{
	const struct aggregate_waker *w;
	struct aggregate_key key;
	int r;

	*ret = 0;
	if (!e->waker)
		return AGGREGATE_E_OK;
	w = aggregate_waker(from, e->waker);
	key = (struct aggregate_key){.process = w->process,
				     .generation = w->generation,
				     .thread_name = aggregate_thread_name(from, w->thread_name),
				     .stack = aggregate_stack(from, w->stack)};
	r = aggregate_add_waker(a, &key, w->by_interrupt, ret);
	return r < 0 ? r : AGGREGATE_E_OK;
}

int aggregate_add_entry(struct aggregate *a, const struct aggregate *from,
			const struct aggregate_entry *e)
{
	struct aggregate_key key = {
		.process = e->process,
		.generation = e->generation,
		.tid = e->tid,
		.wait = e->wait,
		.thread_name = aggregate_thread_name(from, e->thread_name),
		.stack = aggregate_stack(from, e->stack),
	};
	uint32_t id;
	int r = aggregate_copy_waker(a, from, e, &key.waker)
			?: aggregate_add_counts(a, &key, e->count, e->weight, &id);
	if (!r && a->has_latency)
		aggregate_add_latency(a, id, aggregate_latency(from, e));
	while (!r && a->times.scale < from->times.scale)
		r = times_coarsen(&a->times, a->entries.all, a->entries.n);
	for (uint32_t i = e->times; i && !r; i = aggregate_time(from, i).next) {
		struct aggregate_time t = aggregate_time(from, i);

		r = aggregate_add_time(a, id, t.bucket, t.count);
	}
	return r;
}

struct aggregate_time aggregate_time(const struct aggregate *a, uint32_t time)
{
	return a->times.all[time - 1];
}

unsigned aggregate_time_scale(const struct aggregate *a)
{
	return a->times.scale;
}

const struct aggregate_entry *aggregate_entries(const struct aggregate *a, size_t *ret_n)
{
	*ret_n = a->entries.n;
	return a->entries.all;
}

struct stack aggregate_stack(const struct aggregate *a, uint32_t stack)
{
	const struct aggregate_stack *s = (const struct aggregate_stack *)a->stacks.all + stack;

	return (struct stack){.frames = a->frames + s->first,
			      .n_frames = s->n_frames,
			      .n_kernel = s->n_kernel,
			      .quality = s->quality,
			      .reason = s->reason};
}

const char *aggregate_thread_name(const struct aggregate *a, uint32_t thread_name)
{
	return ((const struct thread_name *)a->names.all)[thread_name].text;
}

uint64_t aggregate_count(const struct aggregate *a)
{
	return a->count;
}

static size_t aggregate_table_bytes(const struct aggregate_table *t)
{
	return t->capacity * t->size + t->slots.n_slots * sizeof(*t->slots.slots);
}

size_t aggregate_bytes(const struct aggregate *a)
{
	return sizeof(*a) + a->max_frames * sizeof(*a->frames) + aggregate_table_bytes(&a->stacks) +
	       aggregate_table_bytes(&a->names) + aggregate_table_bytes(&a->wakers) +
	       aggregate_table_bytes(&a->entries) + a->n_latencies * sizeof(*a->latencies) +
	       times_bytes(&a->times);
}

static size_t aggregate_table_used_bytes(const struct aggregate_table *t)
{
	return t->n * (t->size + sizeof(*t->slots.slots));
}

size_t aggregate_used_bytes(const struct aggregate *a)
{
	return a->n_frames * sizeof(*a->frames) + aggregate_table_used_bytes(&a->stacks) +
	       aggregate_table_used_bytes(&a->names) + aggregate_table_used_bytes(&a->wakers) +
	       aggregate_table_used_bytes(&a->entries);
}
