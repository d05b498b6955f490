/* SPDX-License-Identifier: MIT */
/*
 * The values of a sample are shared by counts: of what was counted up to a moment, the values are
 * the same part, rounded down. A range has the difference of two such parts, so that nothing is
 * counted twice, or lost, between ranges.
 *
 * Of waits nobody knows when they were: they are shared in the same way by the time that is
 * covered, as if they were spread evenly over it.
 */
#include "client/analysis/time_range.h"

#include "common/clamped.h"
#include "common/profile/coverage.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "common/profile/value_types.h"

struct time_range {
	int64_t since_ns, until_ns;
	uint64_t covered, before, until; /* time that is covered: all, and up to these */
};

static int64_t time_middle_ns(const struct profile_time *t)
{
	/* In halves of a bucket: 100 ms have a middle. */
	const uint64_t middle = 2 * t->bucket + (UINT64_C(1) << t->scale);

	return middle < INT64_MAX / (PROFILE_BUCKET_NS / 2)
		       ? (int64_t)middle * (PROFILE_BUCKET_NS / 2)
		       : INT64_MAX;
}

static int64_t value_part(int64_t value, uint64_t part, uint64_t all)
{
	return (int64_t)((__int128)value * part / all);
}

/* Of @all, the values are from @before up to @until. */
static void time_range_share(struct profile *p, size_t sample, uint64_t before, uint64_t until,
			     uint64_t all)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		int64_t *value = &p->sample_values[sample * p->n_sample_types + i];

		*value = value_part(*value, until, all) - value_part(*value, before, all);
	}
}

/* Takes what is outside of the range out of the sample's list, and of its values. */
static void time_range_cut_sample(const struct time_range *range, struct profile *p, size_t sample)
{
	uint64_t all = 0, before = 0, until = 0;
	uint32_t *link = &p->samples[sample].times;

	while (*link) {
		struct profile_time *t = &p->times[*link - 1];
		const int64_t middle_ns = time_middle_ns(t);

		all += t->count;
		before += middle_ns < range->since_ns ? t->count : 0;
		until += middle_ns < range->until_ns ? t->count : 0;
		if (middle_ns < range->since_ns || middle_ns >= range->until_ns)
			*link = t->next;
		else
			link = &t->next;
	}
	time_range_share(p, sample, before, until, all);
}

/* Beside CPU samples, or of a profile of waits alone. */
static bool time_range_is_wait(const struct profile *p, size_t sample)
{
	uint32_t waits;

	return value_types_is_wait(p, sample) ||
	       (p->n_sample_types == 2 && value_types_find_waits(p, &waits));
}

static int time_range_set_times(struct time_range *range, struct profile *p)
{
	cleanup(profile_coverage_deinit) struct profile_coverage covered = {0};
	int r = profile_coverage_of(p, &covered);

	if (r)
		return r;
	range->covered = (uint64_t)profile_coverage_ns(&covered, INT64_MIN, INT64_MAX);
	range->before = (uint64_t)profile_coverage_ns(&covered, INT64_MIN, range->since_ns);
	range->until = (uint64_t)profile_coverage_ns(&covered, INT64_MIN, range->until_ns);
	p->duration_ns = profile_coverage_ns(&covered, range->since_ns, range->until_ns);
	if (p->time_ns < range->since_ns)
		p->time_ns = range->since_ns;
	return 0;
}

int time_range_keep(struct profile *p, int64_t since_ns, int64_t until_ns, int64_t *ret_untimed)
{
	struct time_range range = {.since_ns = since_ns,
				   .until_ns = until_ns > since_ns ? until_ns : since_ns};
	int64_t untimed = 0;
	int r = time_range_set_times(&range, p);

	for (size_t i = 0; i < p->n_samples && !r; i++) {
		if (profile_knows_times(p, (uint32_t)i))
			time_range_cut_sample(&range, p, i);
		else if (range.covered && time_range_is_wait(p, i))
			time_range_share(p, i, range.before, range.until, range.covered);
		else if (p->n_sample_types)
			untimed = clamped_add(untimed, p->sample_values[i * p->n_sample_types]);
	}
	*ret_untimed = untimed;
	return r ? r : profile_drop_zeroes(p);
}
