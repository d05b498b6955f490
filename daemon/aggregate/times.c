/* SPDX-License-Identifier: MIT */
#include "daemon/aggregate/times.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/profile/sample_times.h"

#define TIMES_MIN      1024u
#define TIME_COUNT_MAX ((1u << 28) - 1)
#define TIME_MAX       ((UINT64_C(1) << 36) - 1)

void times_deinit(struct times *t)
{
	free(t->all);
	*t = (struct times){0};
}

bool times_count(struct times *t, const struct aggregate_entry *e, uint64_t bucket, uint64_t count)
{
	struct aggregate_time *newest = e->times ? &t->all[e->times - 1] : NULL;

	if (!newest || newest->bucket >> t->scale != bucket >> t->scale ||
	    count > TIME_COUNT_MAX - newest->count)
		return false;
	newest->count = newest->count + count;
	return true;
}

static uint32_t times_bigger(const struct times *t)
{
	return t->capacity ? t->capacity * 2 : TIMES_MIN;
}

size_t times_growth(const struct times *t)
{
	return t->n < t->capacity ? 0 : (size_t)(times_bigger(t) - t->capacity) * sizeof(*t->all);
}

size_t times_bytes(const struct times *t)
{
	return t->capacity * sizeof(*t->all);
}

int times_add(struct times *t, struct aggregate_entry *e, uint64_t bucket, uint64_t count)
{
	/* What cannot be represented is not known; so are, in the end, all times of the entry. */
	if (count > TIME_COUNT_MAX || bucket > TIME_MAX)
		return 0;
	if (t->n == t->capacity) {
		const uint32_t bigger = times_bigger(t);
		struct aggregate_time *moved;

		if (bigger < t->capacity)
			return error_origin(-E2BIG);
		moved = reallocarray(t->all, bigger, sizeof(*moved));
		if (!moved)
			return error_origin(-ENOMEM);
		t->all = moved;
		t->capacity = bigger;
	}
	t->all[t->n] = (struct aggregate_time){.bucket = bucket >> t->scale << t->scale,
					       .count = count,
					       .next = e->times};
	e->times = ++t->n;
	return 0;
}

static void times_give_up(struct times *t, struct aggregate_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		entries[i].times = 0;
	times_deinit(t);
	t->is_off = true;
}

int times_coarsen(struct times *t, struct aggregate_entry *entries, size_t n)
{
	struct times coarser = {.scale = t->scale + 1,
				.capacity = t->capacity,
				.is_off = t->is_off};

	if (t->scale == PROFILE_SCALE_MAX) {
		times_give_up(t, entries, n);
		return 0;
	}
	coarser.all = t->capacity ? reallocarray(NULL, t->capacity, sizeof(*coarser.all)) : NULL;
	if (t->capacity && !coarser.all)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++) {
		uint32_t next = entries[i].times;

		entries[i].times = 0;
		while (next) {
			const struct aggregate_time time = t->all[next - 1];

			next = time.next;
			/* There is room: it has as many of them at most. */
			if (!times_count(&coarser, &entries[i], time.bucket, time.count))
				(void)times_add(&coarser, &entries[i], time.bucket, time.count);
		}
	}
	free(t->all);
	*t = coarser;
	return 0;
}
