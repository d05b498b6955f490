/* SPDX-License-Identifier: MIT */
/* Heat maps and ranges, of profiles whose samples know when they were counted, or do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/heat.h"
#include "client/analysis/time_range.h"
#include "common/cleanup.h"
#include "common/profile/coverage.h"
#include "common/profile/merge.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "tests/support/random.h"
#include "tests/unit/profile/text.h"

#define SECOND INT64_C(1795251600)
#define NS     INT64_C(1000000000)
#define BUCKET ((uint64_t)SECOND * 10)

static struct profile *new_profile(int64_t start_s, int64_t seconds)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->time_ns = start_s * NS;
	p->duration_ns = seconds * NS;
	assert_int_equal(profile_add_comment(p, "# profd ledger: seen=1"), 0);
	return p;
}

static void add_stack(struct profile *p, unsigned number, int64_t count)
{
	const int64_t values[] = {count, count * 10101010};
	uint32_t location;

	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000 + number, NULL, 0, &location),
			 0);
	assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
}

static void add_time(struct profile *p, uint64_t bucket, unsigned scale, uint32_t count)
{
	assert_int_equal(profile_add_time(p, profile_last_sample(p), bucket, scale, count), 0);
}

/* The map from SECOND + @first on. */
static void assert_heat(const struct profile *p, int64_t first, int64_t n,
			const struct profile_coverage *covered, const char *wanted)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	const struct heat_options options = {
		.since_ns = (SECOND + first) * NS + 1,
		.until_ns = (SECOND + first + n) * NS,
		.covered = covered,
	};

	assert_non_null(out);
	assert_int_equal(heat_write(p, &options, out), HEAT_E_OK);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

#define HEAD(since, columns)                                                             \
	"{\"since_ms\":" since ",\"column_ms\":1000,\"row_ms\":100,\"columns\":" columns \
	",\"rows\":10,\"values\":["
#define TEN_NULLS "null,null,null,null,null,null,null,null,null,null"

static void test_cells_and_gaps(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND + 1, 1);
	struct profile_coverage all = {0};

	(void)state;
	add_stack(p, 1, 5);
	add_time(p, BUCKET + 10, 0, 3);
	add_time(p, BUCKET + 19, 0, 2);
	add_stack(p, 2, 4);
	add_time(p, BUCKET + 19, 0, 1);
	add_time(p, BUCKET + 8, 0, 2);  /* it was in flight when the window began */
	add_time(p, BUCKET + 50, 0, 1); /* not in range */
	add_stack(p, 3, 7);             /* who knows when */
	assert_heat(p, 0, 3, NULL,
		    HEAD("1795251600000", "3") "null,null,null,null,null,null,null,null,2,null,"
					       "3,0,0,0,0,0,0,0,0,3," TEN_NULLS
					       "],\"max\":3,\"samples\":8,\"untimed\":7,"
					       "\"coarsest_ms\":100}\n");
	assert_int_equal(profile_coverage_add(&all,
					      &(struct profile_window){.time_ns = SECOND * NS,
								       .duration_ns = 9 * NS}),
			 0);
	assert_heat(p, 2, 1, &all,
		    HEAD("1795251602000", "1") "0,0,0,0,0,0,0,0,0,0],\"max\":0,\"samples\":0,"
					       "\"untimed\":7,\"coarsest_ms\":100}\n");
	profile_coverage_deinit(&all);
}

/* Waits have no times, and are none of it. */
static void test_no_waits(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND, 1);
	const int64_t wait[] = {1, 0, 500}, untimed[] = {2, 20, 0};

	(void)state;
	add_stack(p, 1, 4);
	add_time(p, BUCKET, 0, 4);
	assert_int_equal(profile_insert_sample_type(p, 2, "off_cpu", "nanoseconds"), 0);
	assert_int_equal(profile_append_sample(p, NULL, 0, wait, NULL, 0), 0);
	assert_int_equal(profile_append_sample(p, NULL, 0, untimed, NULL, 0), 0);
	assert_heat(p, 0, 1, NULL,
		    HEAD("1795251600000", "1") "4,0,0,0,0,0,0,0,0,0],\"max\":4,\"samples\":4,"
					       "\"untimed\":2,\"coarsest_ms\":100}\n");
}

static void test_longer_buckets(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(SECOND, 1);

	(void)state;
	add_stack(p, 1, 4);
	add_time(p, BUCKET + 2, 1, 3);
	add_time(p, BUCKET + 8, 2, 1); /* half of it is in range */
	assert_heat(p, 0, 1, NULL,
		    HEAD("1795251600000", "1") "0,0,1.500,1.500,0,0,0,0,0.250,0.250],"
					       "\"max\":1.500,\"samples\":3.500,\"untimed\":0,"
					       "\"coarsest_ms\":400}\n");
}

static void test_ranges_that_are_none(void **state)
{
	static const int64_t ranges[][2] = {
		{-NS, NS}, {SECOND * NS, SECOND * NS}, {SECOND * NS, (SECOND + 3601) * NS}, {5, 4}};
	cleanup(profile_freep) struct profile *p = new_profile(SECOND, 1);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++) {
		const struct heat_options options = {.since_ns = ranges[i][0],
						     .until_ns = ranges[i][1]};

		assert_int_equal(heat_write(p, &options, NULL), HEAT_E_RANGE);
	}
}

/* A merge with times shows where nothing was sampled, also when merged again. */
static void test_coverage_of_a_merge(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_coverage_deinit) struct profile_coverage c = {0};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;

	(void)state;
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
	merge_keep_times(m);
	for (int i = 0; i < 5; i++) {
		cleanup(profile_freep) struct profile *window =
			new_profile(SECOND + i * 60 + 600 * (i > 2), 60);

		add_stack(window, 1, 1);
		add_time(window, BUCKET + (uint64_t)i, 0, 1);
		assert_int_equal(merge_add(m, window, NULL, NULL, &message), 0);
	}
	assert_int_equal(merge_finish(m), 0);
	p = merge_steal_profile(m);
	assert_int_equal(profile_coverage_of(p, &c), 0);
	assert_int_equal(c.n, 2);
	assert_true(profile_coverage_has(&c, SECOND * NS));
	assert_true(profile_coverage_has(&c, (SECOND + 179) * NS));
	assert_false(profile_coverage_has(&c, (SECOND + 180) * NS));
	assert_true(profile_coverage_has(&c, (SECOND + 780) * NS));
	assert_false(profile_coverage_has(&c, (SECOND - 1) * NS));
	assert_int_equal(profile_coverage_ns(&c, 0, INT64_MAX), 300 * NS);
	assert_int_equal(profile_coverage_ns(&c, (SECOND + 170) * NS, (SECOND + 790) * NS),
			 20 * NS);
}

#define N_STACKS  200
#define N_BUCKETS 600

static struct profile *make_minute(uint64_t counts[N_BUCKETS])
{
	struct profile *p = new_profile(SECOND, 60);
	uint64_t seed = 3;

	for (unsigned i = 0; i < N_STACKS; i++) {
		const unsigned n = 1 + random_next(&seed) % 40;

		add_stack(p, i, n);
		for (unsigned j = 0; j < n; j++) {
			const unsigned at = random_next(&seed) % N_BUCKETS;

			add_time(p, BUCKET + at, 0, 1);
			counts[at]++;
		}
	}
	return p;
}

/* Waits are spread evenly over what is covered; ranges add up, also in counts. */
static void test_ranges_of_waits(void **state)
{
	static const unsigned cuts[] = {0, 6, 30, 31, 60}; /* seconds */
	static const int64_t off_cpu[] = {0, 60000, 240000, 10000, 290000};
	static const int64_t wait[] = {7, 0, 600000};
	int64_t n = 0;

	(void)state;
	for (unsigned c = 0; c + 1 < ARRAY_SIZE(cuts); c++) {
		cleanup(profile_freep) struct profile *p = new_profile(SECOND, 60);
		int64_t untimed;

		assert_int_equal(profile_add_sample_type(p, "off_cpu", "nanoseconds"), 0);
		assert_int_equal(profile_append_sample(p, NULL, 0, wait, NULL, 0), 0);
		assert_int_equal(time_range_keep(p, (SECOND + cuts[c]) * NS,
						 (SECOND + cuts[c + 1]) * NS, &untimed),
				 0);
		assert_int_equal(untimed, 0);
		assert_int_equal(profile_total(p, 2), off_cpu[c + 1]);
		n += profile_total(p, 0);
	}
	assert_int_equal(n, 7);
}

/* However a minute is cut, the parts are what was counted in them, and add up in all values. */
static void test_ranges_add_up(void **state)
{
	static const unsigned cuts[] = {0, 1, 17, 18, 300, 599, 600};
	uint64_t counts[N_BUCKETS] = {0};
	int64_t sum = 0, ns = 0;
	cleanup(profile_freep) struct profile *whole = make_minute(counts);

	(void)state;
	for (unsigned c = 0; c + 1 < ARRAY_SIZE(cuts); c++) {
		cleanup(profile_freep) struct profile *p = make_minute(counts);
		int64_t since = SECOND * NS + cuts[c] * NS / 10, untimed;
		int64_t until = SECOND * NS + cuts[c + 1] * NS / 10;
		int64_t wanted = 0;

		add_stack(p, N_STACKS, 5);
		assert_int_equal(time_range_keep(p, since, until, &untimed), 0);
		assert_int_equal(untimed, 5);
		for (unsigned i = cuts[c]; i < cuts[c + 1]; i++)
			wanted += (int64_t)counts[i] / (2 + c);
		assert_int_equal(profile_total(p, 0) - 5, wanted);
		assert_int_equal(p->time_ns, since);
		assert_int_equal(p->duration_ns, until - since);
		for (uint32_t i = 0; i + 1 < p->n_samples; i++) {
			assert_true(profile_knows_times(p, i));
			assert_true(p->sample_values[2 * i] > 0);
		}
		sum += profile_total(p, 0) - 5;
		ns += profile_total(p, 1) - 5 * 10101010;
	}
	assert_int_equal(sum, profile_total(whole, 0));
	assert_int_equal(ns, profile_total(whole, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_and_gaps),
		cmocka_unit_test(test_longer_buckets),
		cmocka_unit_test(test_no_waits),
		cmocka_unit_test(test_ranges_that_are_none),
		cmocka_unit_test(test_coverage_of_a_merge),
		cmocka_unit_test(test_ranges_add_up),
		cmocka_unit_test(test_ranges_of_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
