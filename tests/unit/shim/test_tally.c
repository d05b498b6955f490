/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/core/tally.h"

#define N_THREADS 4
#define N_STACKS  500
#define N_ROUNDS  20

static uint64_t sum_of(const struct tally *tally, size_t *ret_n)
{
	struct tally_entry entry;
	uint64_t sum = 0;
	size_t cursor = 0;

	*ret_n = 0;
	while (tally_next(tally, &cursor, &entry)) {
		sum += entry.count;
		(*ret_n)++;
	}
	return sum;
}

static void test_counts_add_up(void **state)
{
	const uint64_t stack[] = {1, 2, 3}, other[] = {1, 2};
	struct tally_entry entry;
	struct tally *tally;
	size_t cursor = 0, n;

	(void)state;
	assert_int_equal(tally_new(&tally, 1 << 12), 0);
	assert_int_equal(tally_add(tally, stack, 3, 5), TALLY_OK);
	assert_int_equal(tally_add(tally, other, 2, 1), TALLY_OK);
	assert_int_equal(tally_add(tally, stack, 3, 7), TALLY_OK);
	while (tally_next(tally, &cursor, &entry)) {
		assert_int_equal(entry.count, entry.n == 3 ? 12 : 1);
		assert_memory_equal(entry.frames, stack, entry.n * sizeof(*stack));
	}
	assert_int_equal(sum_of(tally, &n), 13);
	assert_int_equal(n, 2);
	tally_reset(tally);
	assert_int_equal(sum_of(tally, &n), 0);
	assert_int_equal(tally_add(tally, stack, 3, 1), TALLY_OK);
}

/* Nothing is forgotten without a word, however full it is. */
static void test_full(void **state)
{
	uint64_t stack[16], have[3] = {0, 0, 0};
	struct tally *tally;
	size_t n;

	(void)state;
	assert_int_equal(tally_new(&tally, 1 << 12), 0);
	for (uint64_t i = 0; i < 4000; i++) {
		for (unsigned j = 0; j < 16; j++)
			stack[j] = i + j;
		stack[0] = i % 20;
		have[tally_add(tally, stack, 16, 1)]++;
	}
	assert_true(have[TALLY_OK] > 100 && have[TALLY_CUT] > 100);
	assert_int_equal(have[TALLY_FULL], 0);
	assert_int_equal(sum_of(tally, &n), 4000);
	for (uint64_t i = 0; i < 4000; i++) {
		stack[0] = 1000 + i;
		have[tally_add(tally, stack, 1, 1)]++;
	}
	assert_true(have[TALLY_FULL] > 100);
	assert_int_equal(sum_of(tally, &n), 8000 - have[TALLY_FULL]);
}

static void *add_all(void *userdata)
{
	for (uint64_t round = 0; round < N_ROUNDS; round++) {
		for (uint64_t i = 0; i < N_STACKS; i++) {
			const uint64_t stack[] = {i, i + 1, 7};

			if (tally_add(userdata, stack, 3, 1))
				return NULL;
		}
	}
	return userdata;
}

/* Threads that meet over the same stacks. */
static void test_at_once(void **state)
{
	pthread_t threads[N_THREADS];
	struct tally *tally;
	void *good;
	size_t n;

	(void)state;
	assert_int_equal(tally_new(&tally, 1 << 16), 0);
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_all, tally), 0);
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], &good);
		assert_non_null(good);
	}
	assert_int_equal(sum_of(tally, &n), N_THREADS * N_ROUNDS * N_STACKS);
	assert_int_equal(n, N_STACKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_add_up),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
