/* SPDX-License-Identifier: MIT */
/*
 * One word of state says what may be done: the thread that moves it to LINK_ASKING connects, alone;
 * in LINK_ON handlers enter and leave, counted, so that the ring goes when none is in it.
 */
#include "client/shim/core/link.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/reasons.h"

/* In LINK_ASKING. */
static int link_attach(struct link *link, int timeout_ms, struct attach_reason *reason)
{
	int memory, bell, r = attach_connect(link->path, timeout_ms, &memory, &bell, reason);
	bool good;

	if (!r) {
		good = ring_writer_open(&link->ring, memory, bell);
		close(memory);
		if (!good) {
			close(bell);
			r = ATTACH_E_NOBODY;
		}
	}
	atomic_store(&link->state, r ? LINK_ALONE : LINK_ON);
	return r;
}

static int64_t now_s(void)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC_COARSE) / NS_PER_S);
}

int link_init(struct link *link, const char *path, struct attach_reason *ret_reason)
{
	memcpy(link->path, path, strnlen(path, LINK_PATH_SIZE - 1) + 1);
	link->ring = (struct ring_writer){.bell = -1};
	atomic_store(&link->looked_s, now_s());
	atomic_store(&link->state, LINK_ASKING);
	return link_attach(link, LINK_TIMEOUT_MS, ret_reason);
}

/* Nobody has entered. */
static void forget_ring(struct link *link)
{
	ring_writer_close(&link->ring);
	atomic_store(&link->generation, 0);
	atomic_store(&link->is_writing, false);
	link->next = 0;
}

void link_after_fork(struct link *link)
{
	int state = atomic_load(&link->state);

	if (state == LINK_NONE)
		return;
	link->guess = link_frequency(link);
	/* Of other threads, which are not here. */
	atomic_store(&link->n_users, 0);
	/* What one of those was just opening stays as it is. */
	if (state == LINK_ASKING)
		link->ring = (struct ring_writer){.bell = -1};
	forget_ring(link);
	atomic_store(&link->state, state == LINK_ALONE ? LINK_ALONE : LINK_WANTED);
}

bool link_enter(struct link *link)
{
	if (atomic_load(&link->state) != LINK_ON)
		return false;
	atomic_fetch_add(&link->n_users, 1);
	if (atomic_load(&link->state) == LINK_ON)
		return true;
	link_leave(link);
	return false;
}

void link_leave(struct link *link)
{
	atomic_fetch_sub(&link->n_users, 1);
}

uint32_t link_frequency(struct link *link)
{
	uint32_t frequency = 0;
	int state;

	if (link_enter(link)) {
		frequency = ring_writer_frequency(&link->ring);
		link_leave(link);
		return frequency;
	}
	state = atomic_load(&link->state);
	return state == LINK_WANTED || state == LINK_ASKING ? link->guess : 0;
}

/* True for one caller, when @interval_s have passed since it was last. */
static bool link_check_is_due(struct link *link, int64_t interval_s)
{
	int64_t looked_s = atomic_load(&link->looked_s), now = now_s();

	return now - looked_s >= interval_s &&
	       atomic_compare_exchange_strong(&link->looked_s, &looked_s, now);
}

static void link_retry(struct link *link)
{
	struct attach_reason reason;
	int alone = LINK_ALONE;

	if (!link_check_is_due(link, LINK_AGAIN_S) ||
	    !atomic_compare_exchange_strong(&link->state, &alone, LINK_ASKING))
		return;
	link->guess = 0;
	/* A handler that entered before the server went is still in there: another time. */
	if (atomic_load(&link->n_users)) {
		atomic_store(&link->state, LINK_ALONE);
		return;
	}
	forget_ring(link);
	link_attach(link, LINK_AGAIN_TIMEOUT_MS, &reason);
}

static void link_check_server(struct link *link)
{
	int on = LINK_ON;

	if (!link_check_is_due(link, 1) || !link_enter(link))
		return;
	if (!ring_writer_has_server(&link->ring))
		atomic_compare_exchange_strong(&link->state, &on, LINK_ALONE);
	link_leave(link);
}

void link_tick(struct link *link)
{
	int state = atomic_load(&link->state);
	struct attach_reason reason;

	if (state == LINK_ON)
		link_check_server(link);
	else if (state == LINK_ALONE)
		link_retry(link);
	else if (state == LINK_WANTED &&
		 atomic_compare_exchange_strong(&link->state, &state, LINK_ASKING))
		link_attach(link, LINK_TIMEOUT_MS, &reason);
}

void link_maps(struct link *link, const struct images_view *view)
{
	uint32_t generation;
	const char *text;
	size_t length;

	generation = images_view_lines(view, &text, &length);
	if (generation <= atomic_load(&link->generation) ||
	    atomic_exchange(&link->is_writing, true))
		return;
	/* Whole lines. */
	while (length > RING_MAPS_MAX) {
		const char *newline = memrchr(text, '\n', RING_MAPS_MAX);

		length = newline ? (size_t)(newline + 1 - text) : 0;
	}
	if (generation > link->next) {
		link->next = generation;
		link->n_done = 0;
	}
	if (generation == link->next &&
	    ring_writer_maps(&link->ring, generation, text, length, &link->n_done))
		atomic_store(&link->generation, generation);
	atomic_store(&link->is_writing, false);
}

void link_sample(struct link *link, const struct images_view *view, struct ring_sample *sample)
{
	struct ring_counters *counters = &link->ring.page->counters;
	const char *text;
	size_t length;

	shim_counter_add(&counters->seen, sample->weight);
	sample->time_ns = clock_ns(CLOCK_MONOTONIC);
	sample->generation = images_view_lines(view, &text, &length);
	prctl(PR_GET_NAME, sample->comm);
	shim_counter_add(!ring_writer_sample(&link->ring, sample) ? &counters->lost
			 : sample->quality == STACK_COMPLETE      ? &counters->complete
			 : sample->quality == STACK_TRUNCATED     ? &counters->truncated
								  : &counters->broken,
			 sample->weight);
}

void link_not_walked(struct link *link, uint32_t weight, bool is_filtered)
{
	struct ring_counters *counters = &link->ring.page->counters;

	shim_counter_add(&counters->seen, weight);
	shim_counter_add(is_filtered ? &counters->filtered : &counters->lost, weight);
}

bool link_has_samples(const struct link *link)
{
	return atomic_load(&link->ring.page->counters.seen) != 0;
}
