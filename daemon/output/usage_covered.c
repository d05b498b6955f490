/* SPDX-License-Identifier: MIT */
#include "daemon/output/usage_covered.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/room.h"

#define ALL_HOURS ((UINT32_C(1) << STORE_HOURS) - 1)

int usage_covered_init(struct usage_covered *c, uint64_t since_ns, uint64_t until_ns,
		       size_t n_steps)
{
	*c = (struct usage_covered){.since_ns = since_ns,
				    .until_ns = until_ns,
				    .step_ns = (double)(until_ns - since_ns) / (double)n_steps,
				    .n_steps = n_steps};
	c->slots = calloc(n_steps * USAGE_SLOTS + 2, sizeof(*c->slots));
	return c->slots ? 0 : error_origin(-ENOMEM);
}

void usage_covered_deinit(struct usage_covered *c)
{
	free(c->slots);
	free(c->days);
}

static size_t usage_slot(const struct usage_covered *c, uint64_t at_ns)
{
	double slot = (double)(at_ns - c->since_ns) * USAGE_SLOTS / c->step_ns;

	return (size_t)(slot + 0.5);
}

void usage_covered_add(struct usage_covered *c, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t from_ns = start_ns > c->since_ns ? start_ns : c->since_ns;
	uint64_t to_ns = end_ns < c->until_ns ? end_ns : c->until_ns;
	size_t first, end;

	if (from_ns >= to_ns)
		return;
	first = usage_slot(c, from_ns);
	end = usage_slot(c, to_ns);
	/* A window that is shorter than a slot is no gap. */
	c->slots[first]++;
	c->slots[end > first ? end : first + 1]--;
}

int usage_covered_day(struct usage_covered *c, uint64_t start_s, struct usage_day **ret)
{
	int r;

	for (size_t i = 0; i < c->n_days; i++)
		if (c->days[i].start_s == start_s) {
			*ret = &c->days[i];
			return 0;
		}
	r = room_append(&c->days, &c->max_days, &c->n_days, (struct usage_day){.start_s = start_s});
	if (!r)
		*ret = &c->days[c->n_days - 1];
	return r;
}

bool usage_day_is_full(const struct usage_day *day)
{
	return day->hours == ALL_HOURS;
}

void usage_covered_add_hours(struct usage_covered *c, struct usage_day *day,
			     const struct index_counts hours[STORE_HOURS])
{
	for (uint32_t i = 0; i < STORE_HOURS; i++) {
		uint64_t start_ns = (day->start_s + i * NAMES_ROLLED_HOUR_S) * NS_PER_S;

		if (day->hours >> i & 1 || (hours && !hours[i].samples))
			continue;
		day->hours |= UINT32_C(1) << i;
		usage_covered_add(c, start_ns, start_ns + NAMES_ROLLED_HOUR_S * NS_PER_S);
	}
}

void usage_covered_list(const struct usage_covered *c, float *ret)
{
	int64_t n_open = 0;

	for (size_t i = 0; i < c->n_steps * USAGE_SLOTS; i++) {
		n_open += c->slots[i];
		ret[i / USAGE_SLOTS] += n_open > 0 ? 1.0F / USAGE_SLOTS : 0;
	}
}
