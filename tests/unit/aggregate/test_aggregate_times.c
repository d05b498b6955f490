/* SPDX-License-Identifier: MIT */
/* When samples were counted is checked against a plain list; the bound against aggregate_bytes().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/aggregate/aggregate.h"
#include "tests/support/random.h"

#define BUCKET    UINT64_C(17952516000)
#define N_BUCKETS 600
#define N_STACKS  50

static int count(struct aggregate *a, uint64_t process, uint64_t bucket, uint64_t n)
{
	const uint64_t frame = 7;
	const struct aggregate_key key = {.process = process,
					  .time_ns = bucket * 100000000,
					  .thread_name = "t",
					  .stack = {.frames = &frame, .n_frames = 1}};

	return aggregate_add(a, &key, n, n);
}

/* Samples of entry @i in @bucket; all in *ret_all. */
static uint64_t count_of(const struct aggregate *a, size_t i, uint64_t bucket, uint64_t *ret_all)
{
	const struct aggregate_entry *entries;
	uint64_t sum = 0;
	size_t n;

	*ret_all = 0;
	entries = aggregate_entries(a, &n);
	for (uint32_t t = entries[i].times; t; t = aggregate_time(a, t).next) {
		struct aggregate_time time = aggregate_time(a, t);

		*ret_all += time.count;
		if (time.bucket == bucket)
			sum += time.count;
	}
	return sum;
}

static void assert_all_times_known(const struct aggregate *a)
{
	const struct aggregate_entry *entries;
	uint64_t all;
	size_t n;

	entries = aggregate_entries(a, &n);
	for (size_t i = 0; i < n; i++) {
		count_of(a, i, 0, &all);
		assert_int_equal(all, entries[i].count);
	}
}

/* Samples come in the order of time, nearly; here also where they do not. */
static void test_equal_a_plain_list(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL, *copy = NULL;
	static uint64_t counts[N_STACKS][N_BUCKETS];
	const struct aggregate_entry *entries;
	uint64_t seed = 1, all;
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, SIZE_MAX), 0);
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	for (unsigned i = 0; i < 100000; i++) {
		unsigned stack = random_next(&seed) % N_STACKS;
		unsigned bucket = i / 200 + random_next(&seed) % 15;

		assert_int_equal(count(a, stack + 1, BUCKET + bucket, 1 + i % 2), AGGREGATE_E_OK);
		counts[stack][bucket] += 1 + i % 2;
	}
	entries = aggregate_entries(a, &n);
	assert_int_equal(n, N_STACKS);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(aggregate_add_entry(copy, a, &entries[i]), AGGREGATE_E_OK);
	assert_int_equal(aggregate_time_scale(a), 0);
	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < N_BUCKETS; b++) {
			uint64_t wanted = counts[entries[i].process - 1][b];

			assert_int_equal(count_of(a, i, BUCKET + b, &all), wanted);
			assert_int_equal(all, entries[i].count);
			assert_int_equal(count_of(copy, i, BUCKET + b, &all), wanted);
		}
	/* What came without a time leaves its entry with less than it counts. */
	assert_int_equal(count(a, 1, 0, 1), AGGREGATE_E_OK);
	assert_int_equal(aggregate_count(a), aggregate_count(copy) + 1);
}

/* Buckets become coarser, and no sample is refused for their sake. */
static void test_an_eighth_of_the_memory(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL, *copy = NULL;
	const size_t max = 256 * 1024;
	const struct aggregate_entry *entries;
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, max), 0);
	for (unsigned i = 0; i < N_BUCKETS * N_STACKS; i++) {
		assert_int_equal(count(a, 1 + i % N_STACKS, BUCKET + i / N_STACKS, 1),
				 AGGREGATE_E_OK);
		assert_true(aggregate_bytes(a) <= max);
	}
	/* 30,000 times of 12 bytes into 32 KiB. */
	assert_int_equal(aggregate_time_scale(a), 4);
	assert_int_equal(aggregate_count(a), N_BUCKETS * N_STACKS);
	assert_all_times_known(a);
	/* A finer one that takes them over is as coarse. */
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	assert_int_equal(count(copy, 1, BUCKET + 3, 1), AGGREGATE_E_OK);
	entries = aggregate_entries(a, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(aggregate_add_entry(copy, a, &entries[i]), AGGREGATE_E_OK);
	assert_int_equal(aggregate_time_scale(copy), 4);
	assert_all_times_known(copy);
}

/* So little memory that there is none for times: there are none then, but all samples. */
static void test_given_up(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL, *copy = NULL;
	const struct aggregate_entry *entries;
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, 90 * 1024), 0);
	for (unsigned i = 0; i < 1000; i++) {
		int r = count(a, 1 + i, BUCKET, 1);

		assert_true(r == AGGREGATE_E_OK || r == AGGREGATE_E_FULL);
		assert_true(aggregate_bytes(a) <= 90 * 1024);
	}
	entries = aggregate_entries(a, &n);
	assert_int_equal(aggregate_count(a), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(entries[i].times, 0);
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	assert_int_equal(aggregate_add_entry(copy, a, &entries[0]), AGGREGATE_E_OK);
	assert_int_equal(count(copy, 1, BUCKET, 1), AGGREGATE_E_OK);
	assert_int_equal(aggregate_count(copy), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_a_plain_list),
		cmocka_unit_test(test_an_eighth_of_the_memory),
		cmocka_unit_test(test_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
