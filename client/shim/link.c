/* SPDX-License-Identifier: MIT */
#include "client/shim/link.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/reasons.h"

void link_init(struct link *link, const char *path)
{
	memcpy(link->path, path, strnlen(path, LINK_PATH_SIZE - 1) + 1);
	atomic_store(&link->state, LINK_WANTED);
}

int link_ask(struct link *link, struct attach_reason *ret_reason)
{
	int wanted = LINK_WANTED, memory, bell, r;
	bool good;

	if (!atomic_compare_exchange_strong(&link->state, &wanted, LINK_ASKING))
		return ATTACH_E_OK;
	r = attach_ask(link->path, LINK_TIMEOUT_MS, &memory, &bell, ret_reason);
	if (!r) {
		good = ring_writer_open(&link->ring, memory, bell);
		close(memory);
		if (!good) {
			close(bell);
			r = ATTACH_E_NOBODY;
		}
	}
	atomic_store(&link->state, r ? LINK_NONE : LINK_ON);
	return r;
}

void link_after_fork(struct link *link)
{
	int state = atomic_load(&link->state);

	if (state == LINK_NONE)
		return;
	link->guess = link_frequency(link);
	if (state == LINK_ON)
		ring_writer_close(&link->ring);
	atomic_store(&link->generation, 0);
	atomic_store(&link->is_writing, false);
	link->next = 0;
	atomic_store(&link->state, LINK_WANTED);
}

bool link_is_on(const struct link *link)
{
	return atomic_load(&link->state) == LINK_ON;
}

uint32_t link_frequency(const struct link *link)
{
	switch (atomic_load(&link->state)) {
	case LINK_ON:
		return ring_writer_frequency(&link->ring);
	case LINK_NONE:
		return 0;
	default:
		return link->guess;
	}
}

void link_check(struct link *link)
{
	/* The memory stays mapped: others may be writing to it. */
	if (link_is_on(link) && !ring_writer_has_server(&link->ring))
		atomic_store(&link->state, LINK_NONE);
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

static void count(_Atomic uint64_t *counter, uint32_t weight)
{
	atomic_fetch_add_explicit(counter, weight, memory_order_relaxed);
}

void link_sample(struct link *link, const struct images_view *view, struct ring_sample *sample)
{
	struct ring_counters *counters = &link->ring.page->counters;
	struct timespec now;
	const char *text;
	size_t length;

	count(&counters->seen, sample->weight);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	sample->generation = images_view_lines(view, &text, &length);
	prctl(PR_GET_NAME, sample->comm);
	if (!ring_writer_sample(&link->ring, sample)) {
		count(&counters->lost, sample->weight);
		link_check(link);
	} else if (sample->quality == STACK_COMPLETE) {
		count(&counters->complete, sample->weight);
	} else if (sample->quality == STACK_TRUNCATED) {
		count(&counters->truncated, sample->weight);
	} else {
		count(&counters->broken, sample->weight);
	}
}

void link_lost(struct link *link, uint32_t weight)
{
	count(&link->ring.page->counters.seen, weight);
	count(&link->ring.page->counters.lost, weight);
}

void link_filtered(struct link *link, uint32_t weight)
{
	count(&link->ring.page->counters.seen, weight);
	count(&link->ring.page->counters.filtered, weight);
}
