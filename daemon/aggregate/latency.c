/* SPDX-License-Identifier: MIT */
/*
 * Samples come nearly in the order of time; those whose stacks have to be finished come later. All
 * of the last seconds are kept in one array. When it is full it is sorted, so that those of one
 * service and one slot are side by side, and the slots that are over get their parts.
 *
 * One thread may have two samples in a slot, and is one all the same; and a sample may be of
 * several slots, where a thread samples itself.
 */
#include "daemon/aggregate/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile_table.h"

#define KEPT_MIN 256u
/* A sample waits for memory or for unwind rules for 1.5 s at most. */
#define LATE_NS (2 * NS_PER_S)

struct kept_sample {
	uint64_t slot; /* the number of the slot that it is in */
	uint64_t cpu_ns;
	uint32_t service; /* hash */
	uint32_t tid, cpu, entry;
};

struct latency {
	struct profile_hash_key hash_key;
	struct kept_sample *kept;
	uint32_t n, capacity, max;
	uint64_t slot_ns, newest; /* slot */
};

int latency_new(struct latency **ret, uint64_t slot_ns, size_t max_bytes)
{
	struct latency *l = calloc(1, sizeof(*l));

	if (!l)
		return error_origin(-ENOMEM);
	if (max_bytes > LATENCY_BYTES_MAX)
		max_bytes = LATENCY_BYTES_MAX;
	l->max = (uint32_t)(max_bytes / sizeof(struct kept_sample));
	if (l->max < KEPT_MIN)
		l->max = KEPT_MIN;
	l->slot_ns = slot_ns;
	profile_hash_key_init(&l->hash_key);
	*ret = l;
	return 0;
}

void latency_free(struct latency *l)
{
	if (!l)
		return;
	free(l->kept);
	free(l);
}

static bool kept_ran_together(const struct kept_sample *x, const struct kept_sample *y)
{
	return x->service == y->service && x->slot == y->slot;
}

DEFINE_ORDER(compare_kept, struct kept_sample,
	     order_of(x->service, y->service)
		     ?: order_of(x->slot, y->slot)
		     ?: order_of(x->tid, y->tid))

/* How many ran at the same time. @all (@n): of one service and one slot, by thread. */
static uint32_t latency_n_parallel(const struct kept_sample *all, uint32_t n)
{
	uint64_t cpus[CPUS_MAX / 64] = {0};
	uint32_t n_threads = 0, n_cpus = 0;

	if (n == 1)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t cpu = all[i].cpu;

		n_threads += !i || all[i].tid != all[i - 1].tid;
		n_cpus += cpu >= CPUS_MAX || !(cpus[cpu / 64] >> cpu % 64 & 1);
		if (cpu < CPUS_MAX)
			cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
	return n_threads < n_cpus ? n_threads : n_cpus;
}

static void latency_share(struct aggregate *a, const struct kept_sample *all, uint32_t n)
{
	const uint32_t n_parallel = latency_n_parallel(all, n);

	for (uint32_t i = 0; i < n; i++)
		aggregate_add_latency(a, all[i].entry, all[i].cpu_ns / n_parallel);
}

/* Shares out the slots up to @last, and keeps the others. */
static void latency_share_until(struct latency *l, struct aggregate *a, uint64_t last)
{
	uint32_t n_left = 0;

	if (!l->n)
		return;
	qsort(l->kept, l->n, sizeof(*l->kept), compare_kept);
	for (uint32_t i = 0, end; i < l->n; i = end) {
		for (end = i + 1; end < l->n && kept_ran_together(&l->kept[i], &l->kept[end]);)
			end++;
		if (l->kept[i].slot <= last) {
			latency_share(a, l->kept + i, end - i);
			continue;
		}
		memmove(l->kept + n_left, l->kept + i, (end - i) * sizeof(*l->kept));
		n_left += end - i;
	}
	l->n = n_left;
}

/* The slots that were over @ns before the newest sample. */
static void latency_share_older(struct latency *l, struct aggregate *a, uint64_t ns)
{
	const uint64_t n_late = ns / l->slot_ns + 1;

	if (l->newest >= n_late)
		latency_share_until(l, a, l->newest - n_late);
}

void latency_update(struct latency *l, struct aggregate *a)
{
	latency_share_older(l, a, LATE_NS);
}

void latency_settle(struct latency *l, struct aggregate *a)
{
	latency_share_until(l, a, UINT64_MAX);
}

/* If what may still have company is too much, the oldest of it goes without. */
static int latency_make_room(struct latency *l, struct aggregate *a)
{
	uint32_t bigger = l->capacity ? l->capacity * 2 : KEPT_MIN;
	struct kept_sample *moved;

	if (l->capacity == l->max) {
		for (uint64_t ns = LATE_NS; ns && l->n > l->max / 2; ns /= 2)
			latency_share_older(l, a, ns);
		if (l->n > l->max / 2)
			latency_settle(l, a);
		return 0;
	}
	if (bigger > l->max)
		bigger = l->max;
	moved = reallocarray(l->kept, bigger, sizeof(*moved));
	if (!moved)
		return error_origin(-ENOMEM);
	l->kept = moved;
	l->capacity = bigger;
	return 0;
}

int latency_add(struct latency *l, struct aggregate *a, const struct latency_sample *sample)
{
	const uint64_t slot = sample->time_ns / l->slot_ns;
	int r = l->n < l->capacity ? 0 : latency_make_room(l, a);

	if (r || !sample->cpu_ns)
		return r;
	l->kept[l->n++] = (struct kept_sample){
		.slot = slot,
		.cpu_ns = sample->cpu_ns,
		.service = profile_hash(&l->hash_key, sample->service, strlen(sample->service)),
		.tid = (uint32_t)sample->tid,
		.cpu = sample->cpu,
		.entry = sample->entry,
	};
	if (slot > l->newest)
		l->newest = slot;
	return 0;
}
