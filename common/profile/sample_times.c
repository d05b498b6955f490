/* SPDX-License-Identifier: MIT */
/*
 * A sample's times are a list through one array for all samples: the newest first, so that what is
 * counted again in the same bucket is found at once. A bucket may be in a list several times, of
 * which sample_times_gather() makes one.
 */
#include "common/profile/sample_times.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

static uint64_t bucket_at_scale(uint64_t bucket, unsigned scale)
{
	return bucket >> scale << scale;
}

int profile_add_time(struct profile *p, uint32_t sample, uint64_t bucket, unsigned scale,
		     uint32_t count)
{
	uint32_t *head = &p->samples[sample].times;
	struct profile_time time = {.bucket = bucket_at_scale(bucket, scale),
				    .scale = scale,
				    .count = count,
				    .next = *head};
	int r;

	if (*head) {
		struct profile_time *newest = &p->times[*head - 1];

		if (newest->bucket == time.bucket && newest->scale == time.scale &&
		    newest->count <= UINT32_MAX - count) {
			newest->count += count;
			return 0;
		}
	}
	if (p->n_times >= PROFILE_NONE - 1)
		return error_origin(-E2BIG);
	r = room_append(&p->times, &p->tables->max_times, &p->n_times, time);
	if (!r)
		*head = (uint32_t)p->n_times;
	return r;
}

uint32_t profile_last_sample(const struct profile *p)
{
	return p->tables->last_sample;
}

int profile_copy_times(struct profile *to, uint32_t to_sample, const struct profile *from,
		       uint32_t from_sample)
{
	int r = 0;

	for (uint32_t i = from->samples[from_sample].times; i && !r; i = from->times[i - 1].next) {
		const struct profile_time *t = &from->times[i - 1];

		r = profile_add_time(to, to_sample, t->bucket, t->scale, t->count);
	}
	return r;
}

void profile_join_times(struct profile *p, uint32_t to, uint32_t from)
{
	uint32_t next;

	for (uint32_t i = p->samples[from].times; i; i = next) {
		struct profile_time *t = &p->times[i - 1];

		next = t->next;
		t->next = p->samples[to].times;
		p->samples[to].times = i;
	}
	p->samples[from].times = 0;
}

bool profile_knows_times(const struct profile *p, uint32_t sample)
{
	uint64_t sum = 0;

	if (!p->n_sample_types)
		return false;
	for (uint32_t i = p->samples[sample].times; i; i = p->times[i - 1].next)
		sum += p->times[i - 1].count;
	return sum && sum == (uint64_t)p->sample_values[(size_t)sample * p->n_sample_types];
}

void profile_coarsen_times(struct profile *p)
{
	for (size_t i = 0; i < p->n_times; i++) {
		struct profile_time *t = &p->times[i];

		if (t->scale == PROFILE_SCALE_MAX)
			continue;
		t->scale++;
		t->bucket = bucket_at_scale(t->bucket, t->scale);
	}
}

void profile_clear_times(struct profile *p)
{
	for (size_t i = 0; i < p->n_samples; i++)
		p->samples[i].times = 0;
	p->n_times = 0;
}

void sample_times_deinit(struct sample_times *t)
{
	free(t->all);
	*t = (struct sample_times){0};
}

static int profile_time_order(const struct profile_time *a, const struct profile_time *b)
{
	return order_of(a->scale, b->scale) ?: order_of(a->bucket, b->bucket);
}

DEFINE_ORDER(profile_time_compare, struct profile_time, profile_time_order(x, y))

int sample_times_gather(struct sample_times *t, const struct profile *p, uint32_t sample)
{
	const size_t first = t->n;
	size_t end = first;

	for (uint32_t i = p->samples[sample].times; i; i = p->times[i - 1].next) {
		int r = room_append(&t->all, &t->max, &t->n, p->times[i - 1]);

		if (r)
			return r;
	}
	if (t->n == first)
		return 0;
	qsort(t->all + first, t->n - first, sizeof(*t->all), profile_time_compare);
	for (size_t i = first; i < t->n; i++) {
		struct profile_time *last = end > first ? &t->all[end - 1] : NULL;

		if (last && profile_time_order(last, &t->all[i]) == 0 &&
		    last->count <= UINT32_MAX - t->all[i].count)
			last->count += t->all[i].count;
		else
			t->all[end++] = t->all[i];
	}
	t->n = end;
	return 0;
}
