/* SPDX-License-Identifier: MIT */
/*
 * Samples that wait. Each holds copies of what it needs: its frames so far, and its stack from the
 * frame on at which it stopped. The list is in order of deadlines, as each waits equally long.
 *
 * Memory of a process that is read now is not what it was at the sample's moment. Callers far up
 * are mostly still there; where the walk over such memory comes to a bad end, the stack ends before
 * it instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/resolve/unwinder_private.h"

/* Dead processes are remembered for two seconds (process.c). */
#define WAIT_NS     (3 * NS_PER_S / 2)
#define WAITERS_MAX 4096u
/* Of unwinder_options.memory_bytes: the rest is for tables that are being made, or all of them. */
#define WAIT_SHARE 4
/* Most stacks fit; where memory gets short, only so much of each is kept. */
#define SHORT_COPY    (16u << 10)
#define SHORTEST_COPY (4u << 10)
#define PAGE          UINT64_C(4096)
#define READ_BYTES    (4 * PAGE)
/* A stack's copy is kept from so far below its pointer on. */
#define BELOW UINT64_C(256)

static void waiter_free(struct waiter *w)
{
	if (!w)
		return;
	process_unref(w->unwinding.process);
	free(w->frames);
	free(w->stack);
	for (unsigned i = 0; i < w->n_reads; i++)
		free(w->reads[i]);
	free(w);
}
DEFINE_CLEANUP(struct waiter *, waiter_free)

/* What all that wait may hold. */
static uint64_t wait_max_bytes(const struct unwinder *u)
{
	return u->options.memory_bytes / WAIT_SHARE;
}

/* The frames, in u->frames, become the waiter's. */
static int waiter_copy_frames(struct unwinder *u, struct waiter *w)
{
	size_t n = w->unwinding.sample.n_kernel + w->unwinding.walk.n_frames;
	uint64_t *frames = reallocarray(w->frames, n ? n : 1, sizeof(*frames));

	if (!frames)
		return error_origin(-ENOMEM);
	memcpy(frames, u->frames, n * sizeof(*frames));
	w->frames = frames;
	w->n_bytes += n * sizeof(*frames) - w->frame_bytes;
	w->frame_bytes = n * sizeof(*frames);
	return 0;
}

/*
 * The copy of the stack, from the present frame on: a walk only goes up, but for signal frames. A
 * little below: in epilogues, rules tell of registers where they were before they were popped.
 */
static int waiter_copy_stack(struct waiter *w, const struct sample_rest *rest, size_t max_copy)
{
	struct unwind_region *region = &w->unwinding.walk.memory.regions[0];
	uint64_t skip = w->unwinding.walk.registers.sp - BELOW - region->address;
	size_t length;

	if (!rest->stack_length)
		return 0;
	if (skip > rest->stack_length)
		skip = 0;
	length = rest->stack_length - skip;
	if (length > max_copy)
		length = max_copy;
	w->n_bytes += length;
	w->stack = malloc(length ? length : 1);
	if (!w->stack)
		return error_origin(-ENOMEM);
	memcpy(w->stack, rest->stack + skip, length);
	*region = (struct unwind_region){.address = region->address + skip,
					 .length = length,
					 .data = w->stack};
	return 0;
}

static bool waiter_request_memory(struct unwinder *u, struct waiter *w)
{
	const struct unwinding *uw = &w->unwinding;
	uint64_t from = uw->walk.address & ~(PAGE - 1);
	int r;

	if (!u->reader || w->n_reads == UNWINDER_READS_MAX ||
	    uw->walk.memory.n_regions == UNWIND_REGIONS_MAX ||
	    process_table_living(u->options.processes, uw->process->pid) != uw->process)
		return false;
	if (u->waiting_bytes + READ_BYTES > wait_max_bytes(u)) {
		u->stats.no_room++;
		return false;
	}
	u->stats.memory_reads++;
	w->cookie = u->next_cookie++;
	r = memory_reader_request(u->reader, w->cookie, uw->process->pid, from, READ_BYTES);
	u->stats.memory_failed += r != MEMORY_READER_E_OK;
	if (r)
		return false;
	if (!w->n_reads)
		w->n_certain = uw->walk.n_frames;
	return true;
}

/* Asks for what it lacks. False: there is no hope. */
static bool waiter_request(struct unwinder *u, struct waiter *w)
{
	if (w->outcome == WALK_TABLE)
		return unwinder_want_table(u, w->unwinding.walk.slot);
	return waiter_request_memory(u, w);
}

/* The end of @w, whose frames are in u->frames. */
static void waiter_finish(struct unwinder *u, struct waiter *w)
{
	struct walk *walk = &w->unwinding.walk;

	bool is_good = walk->quality == STACK_COMPLETE ||
		       (walk->quality == STACK_TRUNCATED && walk->reason == TRUNCATED_DEPTH);

	if (w->n_reads && !is_good) {
		walk->n_frames = w->n_certain;
		walk->quality = STACK_TRUNCATED;
		walk->reason = TRUNCATED_COPY;
	}
	DL_DELETE2(u->waiters, w, previous, next);
	u->n_waiters--;
	u->waiting_bytes -= w->n_bytes;
	walk_deliver(u, &w->unwinding);
	waiter_free(w);
}

static void waiter_give_up(struct unwinder *u, struct waiter *w)
{
	memcpy(u->frames, w->frames,
	       (w->unwinding.sample.n_kernel + w->unwinding.walk.n_frames) * sizeof(*u->frames));
	walk_give_up(&w->unwinding.walk, w->outcome);
	u->stats.gave_up++;
	waiter_finish(u, w);
}

/* What it lacked is there. */
static void waiter_resume(struct unwinder *u, struct waiter *w)
{
	struct walk *walk = &w->unwinding.walk;
	size_t before = w->n_bytes;
	int r;

	memcpy(u->frames, w->frames,
	       (w->unwinding.sample.n_kernel + walk->n_frames) * sizeof(*u->frames));
	w->outcome = walk_unwinding(u, &w->unwinding);
	if (w->outcome == WALK_ENDED) {
		u->stats.finished++;
		u->stats.waited++;
	} else {
		r = waiter_copy_frames(u, w);
		unwinder_fail(u, r);
		u->waiting_bytes += w->n_bytes - before;
		if (!r && waiter_request(u, w))
			return;
		walk_give_up(walk, w->outcome);
		u->stats.gave_up++;
	}
	waiter_finish(u, w);
}

static int waiter_from_unwinding(struct unwinder *u, const struct unwinding *unwinding,
				 const struct sample_rest *rest, int outcome, size_t max_copy,
				 struct waiter **ret)
{
	cleanup(waiter_freep) struct waiter *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	w->unwinding = *unwinding;
	process_ref(unwinding->process);
	w->outcome = outcome;
	w->deadline_ns = UINT64_MAX;
	w->n_bytes = sizeof(*w);
	r = waiter_copy_frames(u, w);
	if (!r)
		r = waiter_copy_stack(w, rest, max_copy);
	if (r)
		return r;
	*ret = steal_ptr(&w);
	return 0;
}

/* How much of a stack a new waiter may keep; 0: there is no room for it. */
static size_t waiter_max_copy(const struct unwinder *u)
{
	uint64_t all = wait_max_bytes(u);
	uint64_t left = all > u->waiting_bytes ? all - u->waiting_bytes : 0;

	if (u->n_waiters == WAITERS_MAX || left < SHORTEST_COPY + 2 * sizeof(struct waiter))
		return 0;
	left -= 2 * sizeof(struct waiter);
	if (left > all / 2)
		return left;
	if (left > all / 4)
		return SHORT_COPY < left ? SHORT_COPY : left;
	return SHORTEST_COPY;
}

void wait_add(struct unwinder *u, const struct unwinding *unwinding, const struct sample_rest *rest,
	      int outcome)
{
	struct unwinding w = *unwinding;
	struct waiter *waiter = NULL;
	size_t max_copy = waiter_max_copy(u);
	int r = 0;

	if (!max_copy)
		u->stats.no_room++;
	else
		r = waiter_from_unwinding(u, &w, rest, outcome, max_copy, &waiter);
	unwinder_fail(u, r);
	if (waiter) {
		DL_APPEND2(u->waiters, waiter, previous, next);
		u->n_waiters++;
		u->waiting_bytes += waiter->n_bytes;
		if (!waiter_request(u, waiter))
			waiter_give_up(u, waiter);
		return;
	}
	if (outcome == WALK_TABLE)
		unwinder_want_table(u, w.walk.slot);
	walk_give_up(&w.walk, outcome);
	walk_deliver(u, &w);
}

void wait_table_settled(struct unwinder *u, uint32_t slot, bool is_there)
{
	struct waiter *w, *next;

	DL_FOREACH_SAFE2(u->waiters, w, next, next)
	{
		if (w->outcome != WALK_TABLE || w->unwinding.walk.slot != slot)
			continue;
		if (is_there)
			waiter_resume(u, w);
		else
			waiter_give_up(u, w);
	}
}

void wait_memory_arrived(struct unwinder *u, uint64_t cookie, const uint8_t *data, size_t length)
{
	struct unwind_memory *memory;
	uint64_t from, missing;
	struct waiter *w;
	uint8_t *copy;

	DL_SEARCH_SCALAR2(u->waiters, w, cookie, cookie, next);
	if (!w || w->outcome != WALK_MEMORY)
		return; /* it has given up */
	memory = &w->unwinding.walk.memory;
	missing = w->unwinding.walk.address;
	from = missing & ~(PAGE - 1);
	copy = missing - from + sizeof(uint64_t) <= length ? malloc(length) : NULL;
	if (!copy) {
		u->stats.memory_failed++;
		waiter_give_up(u, w);
		return;
	}
	memcpy(copy, data, length);
	w->reads[w->n_reads++] = copy;
	w->n_bytes += length;
	u->waiting_bytes += length;
	memory->regions[memory->n_regions++] =
		(struct unwind_region){.address = from, .length = length, .data = copy};
	waiter_resume(u, w);
}

void wait_expire(struct unwinder *u, uint64_t now_ns)
{
	struct waiter *w = u->waiters ? u->waiters->previous : NULL;

	/* However long the drain took that brought them; the head's previous one is the last. */
	for (; now_ns < UINT64_MAX && w && w->deadline_ns == UINT64_MAX; w = w->previous) {
		w->deadline_ns = now_ns + WAIT_NS;
		if (w == u->waiters)
			break;
	}
	while (u->waiters && u->waiters->deadline_ns <= now_ns)
		waiter_give_up(u, u->waiters);
}

static bool waiter_is_of_sampler(const struct waiter *w, unsigned sampler)
{
	return sampler == UNWINDER_ALL || w->unwinding.sample.sampler == sampler;
}

bool wait_any(const struct unwinder *u, unsigned sampler)
{
	for (const struct waiter *w = u->waiters; w; w = w->next)
		if (waiter_is_of_sampler(w, sampler))
			return true;
	return false;
}

void unwinder_release_waiters(struct unwinder *u, unsigned sampler)
{
	struct waiter *w, *next;

	DL_FOREACH_SAFE2(u->waiters, w, next, next)
	{
		if (waiter_is_of_sampler(w, sampler))
			waiter_give_up(u, w);
	}
}
