/* SPDX-License-Identifier: MIT */
/* Parts of periods, by hand and against a count of who ran when. */
#include "daemon/aggregate/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "tests/support/random.h"

#define PERIOD ((uint64_t)10000000) /* ns */

struct fixture {
	struct aggregate *a;
	struct latency *l;
};

static void open_with(struct fixture *f, size_t max_bytes)
{
	assert_int_equal(aggregate_new(&f->a, SIZE_MAX), 0);
	assert_int_equal(aggregate_want_latency(f->a), 0);
	assert_int_equal(latency_new(&f->l, PERIOD, max_bytes), 0);
}

static void close_both(struct fixture *f)
{
	latency_free(f->l);
	aggregate_free(f->a);
}

/* A sample of @where, which is an entry of its own; its number. */
static uint32_t sample_on(struct fixture *f, const char *service, pid_t tid, uint32_t cpu,
			  uint64_t where, uint64_t time_ns, uint64_t cpu_ns)
{
	const struct aggregate_key key = {.process = 1,
					  .thread_name = "t",
					  .stack = {.frames = &where, .n_frames = 1}};
	struct latency_sample s = {
		.service = service, .tid = tid, .cpu = cpu, .time_ns = time_ns, .cpu_ns = cpu_ns};

	assert_int_equal(aggregate_add(f->a, &key, 1, cpu_ns), AGGREGATE_E_OK);
	s.entry = aggregate_last(f->a);
	assert_int_equal(latency_add(f->l, f->a, &s), 0);
	return s.entry;
}

/* On a CPU that nobody knows. */
static uint32_t sample(struct fixture *f, const char *service, pid_t tid, uint64_t where,
		       uint64_t time_ns, uint64_t cpu_ns)
{
	return sample_on(f, service, tid, UINT32_MAX, where, time_ns, cpu_ns);
}

static uint64_t latency_of(const struct fixture *f, uint32_t entry)
{
	size_t n;

	return aggregate_latency(f->a, &aggregate_entries(f->a, &n)[entry]);
}

static void test_periods(void **state)
{
	struct fixture f;
	uint32_t alone, first, second, other, twice, longer, seldom;

	(void)state;
	open_with(&f, 1 << 20);
	alone = sample(&f, "s", 1, 0x10, 5 * PERIOD, PERIOD);
	/* Two threads in one period, in any order; another service is none of theirs. */
	first = sample(&f, "s", 1, 0x20, 7 * PERIOD - 1, PERIOD);
	other = sample(&f, "o", 9, 0x30, 6 * PERIOD + 2, PERIOD);
	second = sample(&f, "s", 2, 0x40, 6 * PERIOD, PERIOD);
	/* One thread is one, however often its period was met. */
	twice = sample(&f, "s", 3, 0x50, 8 * PERIOD, PERIOD);
	assert_int_equal(sample(&f, "s", 3, 0x50, 8 * PERIOD + 1, PERIOD), twice);
	/* Of a thread that samples itself, and was late. */
	longer = sample(&f, "s", 4, 0x60, 9 * PERIOD, 3 * PERIOD);
	/* Of more than four seconds. */
	seldom = sample(&f, "s", 4, 0x68, 10 * PERIOD, UINT64_C(5000000000));
	/* No time at all. */
	sample(&f, "s", 5, 0x70, 8 * PERIOD, 0);
	assert_int_equal(latency_of(&f, alone), 0);
	for (unsigned i = 0; i < 2; i++) {
		latency_settle(f.l, f.a);
		assert_int_equal(latency_of(&f, alone), PERIOD);
		assert_int_equal(latency_of(&f, first), PERIOD / 2);
		assert_int_equal(latency_of(&f, second), PERIOD / 2);
		assert_int_equal(latency_of(&f, other), PERIOD);
		assert_int_equal(latency_of(&f, twice), 2 * PERIOD);
		assert_int_equal(latency_of(&f, longer), 3 * PERIOD);
		assert_int_equal(latency_of(&f, seldom), UINT64_C(5000000000));
	}
	close_both(&f);
}

/* Threads that take turns on one CPU are one at a time; a thread that moves is one. */
static void test_cpus(void **state)
{
	struct fixture f;
	uint32_t turns, others, moves, three;

	(void)state;
	open_with(&f, 1 << 20);
	turns = sample_on(&f, "s", 1, 7, 0x10, 5 * PERIOD, PERIOD);
	sample_on(&f, "s", 2, 7, 0x10, 5 * PERIOD + 1, PERIOD);
	/* Two of three on one CPU. */
	others = sample_on(&f, "s", 3, 7, 0x20, 6 * PERIOD, PERIOD);
	sample_on(&f, "s", 4, 7, 0x20, 6 * PERIOD + 1, PERIOD);
	sample_on(&f, "s", 5, CPUS_MAX - 1, 0x20, 6 * PERIOD + 2, PERIOD);
	moves = sample_on(&f, "s", 6, 7, 0x30, 7 * PERIOD, PERIOD);
	sample_on(&f, "s", 6, 8, 0x30, 7 * PERIOD + 1, PERIOD);
	/* One may be anywhere. */
	three = sample_on(&f, "s", 7, 7, 0x40, 8 * PERIOD, PERIOD);
	sample_on(&f, "s", 8, 8, 0x40, 8 * PERIOD, PERIOD);
	sample_on(&f, "s", 9, CPUS_MAX, 0x40, 8 * PERIOD, PERIOD);
	latency_settle(f.l, f.a);
	assert_int_equal(latency_of(&f, turns), 2 * PERIOD);
	assert_int_equal(latency_of(&f, others), 3 * (PERIOD / 2));
	assert_int_equal(latency_of(&f, moves), 2 * PERIOD);
	assert_int_equal(latency_of(&f, three), 3 * (PERIOD / 3));
	close_both(&f);
}

/*
 * More samples than there is room for, some of them late: of each period all of it is given away
 * once, between those that ran in it.
 */
static void test_many(void **state)
{
	enum { THREADS = 8, PERIODS = 20000, LATE = 150 };
	static uint8_t ran[PERIODS];
	uint64_t wanted[THREADS] = {0}, seed = 3;
	uint32_t entries[THREADS] = {0};
	struct fixture f;

	(void)state;
	open_with(&f, LATENCY_BYTES_MAX);
	for (uint64_t i = 0; i < PERIODS; i++)
		ran[i] = (uint8_t)random_next(&seed);
	for (uint64_t i = 0; i < PERIODS + LATE; i++)
		for (unsigned t = 0; t < THREADS; t++) {
			/* Every other thread's stacks are finished later. */
			const uint64_t period = i - (t % 2 ? LATE : 0);

			if (period >= PERIODS || !(ran[period] & 1u << t))
				continue;
			entries[t] = sample(&f, "s", (pid_t)(10 + t), 0x10 + t, period * PERIOD + t,
					    PERIOD);
			wanted[t] += PERIOD / (unsigned)__builtin_popcount(ran[period]);
		}
	latency_settle(f.l, f.a);
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(latency_of(&f, entries[t]), wanted[t]);
	close_both(&f);
}

static uint64_t sum_of(const struct fixture *f)
{
	uint64_t sum = 0;
	size_t n;

	aggregate_entries(f->a, &n);
	for (uint32_t i = 0; i < n; i++)
		sum += latency_of(f, i);
	return sum;
}

/* More threads than there is room for in two seconds: periods that are over are whole all the same.
 */
static void test_little_room(void **state)
{
	enum { THREADS = 10, PERIODS = 1000 };
	struct fixture f;

	(void)state;
	open_with(&f, 0);
	for (uint64_t i = 0; i < PERIODS; i++)
		for (pid_t t = 0; t < THREADS; t++)
			sample(&f, "s", t, 0x10, (100 + i) * PERIOD + (uint64_t)t, PERIOD);
	latency_settle(f.l, f.a);
	assert_int_equal(sum_of(&f), PERIODS * PERIOD);
	close_both(&f);
}

/* No room for one period, and times that no clock has. */
static void test_no_room(void **state)
{
	struct fixture f;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_with(&f, 0);
		for (uint64_t k = 0; k < 5000; k++)
			sample(&f, "s", (pid_t)k, 0x10 + k % 100, i ? UINT64_MAX : NS_PER_S + k,
			       PERIOD);
		sample(&f, "s", 1, 0x10, 0, PERIOD);
		latency_settle(f.l, f.a);
		assert_in_range(sum_of(&f), PERIOD * 9 / 10, 5000 * PERIOD / 100);
		close_both(&f);
	}
}

/* A look at what is known by now parts nobody from others that are still to come. */
static void test_update(void **state)
{
	struct fixture f;
	uint32_t old, first, second;

	(void)state;
	open_with(&f, 1 << 20);
	latency_update(f.l, f.a);
	old = sample(&f, "s", 1, 0x10, 5 * PERIOD, PERIOD);
	first = sample(&f, "s", 1, 0x20, 5 * PERIOD + 3 * NS_PER_S, PERIOD);
	latency_update(f.l, f.a);
	assert_int_equal(latency_of(&f, old), PERIOD);
	assert_int_equal(latency_of(&f, first), 0);
	second = sample(&f, "s", 2, 0x30, 5 * PERIOD + 3 * NS_PER_S, PERIOD);
	latency_settle(f.l, f.a);
	assert_int_equal(latency_of(&f, old), PERIOD);
	assert_int_equal(latency_of(&f, first), PERIOD / 2);
	assert_int_equal(latency_of(&f, second), PERIOD / 2);
	close_both(&f);
}

/* It goes where its entry goes. */
static void test_copies(void **state)
{
	cleanup(aggregate_freep) struct aggregate *copy = NULL;
	const struct aggregate_entry *entries;
	struct fixture f;
	size_t n;

	(void)state;
	open_with(&f, 1 << 20);
	sample(&f, "s", 1, 0x10, PERIOD, PERIOD);
	latency_settle(f.l, f.a);
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	assert_int_equal(aggregate_want_latency(copy), 0);
	entries = aggregate_entries(f.a, &n);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(aggregate_add_entry(copy, f.a, &entries[0]), AGGREGATE_E_OK);
	assert_int_equal(aggregate_latency(copy, aggregate_entries(copy, &n)), 2 * PERIOD);
	close_both(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods), cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_many),    cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_update),
		cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
