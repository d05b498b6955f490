/* SPDX-License-Identifier: MIT */
/* Whatever is sampled, times take no more than their share; what has room keeps 100 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/sample_times.h"
#include "common/profile/times_block.h"
#include "daemon/output/times_budget.h"
#include "tests/support/random.h"

#define BUCKET UINT64_C(17952516000)

/* @n samples of as many stacks, at any time of a minute. */
static struct profile *make_diverse(unsigned n, bool timed)
{
	struct profile *p = NULL;
	uint64_t seed = n;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (unsigned i = 0; i < n; i++) {
		const int64_t count = 1;
		uint32_t location;

		assert_int_equal(
			profile_add_location(p, PROFILE_NONE, 0x1000 + i, NULL, 0, &location), 0);
		assert_int_equal(profile_add_sample(p, &location, 1, &count, NULL, 0), 0);
		if (timed)
			assert_int_equal(profile_add_time(p, profile_last_sample(p),
							  BUCKET + random_next(&seed) % 600, 0, 1),
					 0);
	}
	return p;
}

static void begin_budget(struct times_budget *b, uint64_t n, uint32_t n_cpus, size_t n_groups)
{
	struct snapshot s = {.duration_ns = UINT64_C(60000000000), .frequency = 99};
	const struct aggregate_key key = {.thread_name = ""};

	assert_int_equal(aggregate_new(&s.aggregate, SIZE_MAX), 0);
	assert_int_equal(aggregate_add(s.aggregate, &key, n, n), 0);
	times_budget_init(b, &s, n_cpus, n_groups);
	aggregate_free(s.aggregate);
}

static void assert_scale(struct times_budget *b, struct profile *p, unsigned low, unsigned high)
{
	assert_int_equal(times_budget_apply(b, p), 0);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		assert_true(profile_knows_times(p, i));
		assert_in_range(p->times[p->samples[i].times - 1].scale, low, high);
	}
}

static size_t file_bytes(const struct profile *p)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	assert_int_equal(pprof_write(p, 6, &data, &length), 0);
	return length;
}

/* 16 CPUs have 95,040 samples in a minute; of 100 MB a day that is 69,444 bytes. */
static void test_a_busy_machine(void **state)
{
	const unsigned n = 16 * 99 * 60;
	cleanup(profile_freep) struct profile *p = make_diverse(n, true);
	cleanup(profile_freep) struct profile *without = make_diverse(n, false);
	struct times_budget b;

	(void)state;
	begin_budget(&b, n, 16, 1);
	assert_scale(&b, p, 1, 6);
	assert_true(file_bytes(p) - file_bytes(without) < 69444);
}

/* What the CPUs could have had is its share, also where they are idle. */
static void test_an_idle_machine(void **state)
{
	cleanup(profile_freep) struct profile *p = make_diverse(9000, true);
	struct times_budget b;

	(void)state;
	begin_budget(&b, 9000, 2, 1);
	assert_scale(&b, p, 0, 0);
}

/* A service that has more than its share takes nothing from others. */
static void test_services_of_all_sizes(void **state)
{
	cleanup(profile_freep) struct profile *big = make_diverse(30000, true), *empty = NULL;
	struct times_budget b;

	(void)state;
	begin_budget(&b, 30000 + 50 * 20, 1, 51);
	for (unsigned i = 0; i < 51; i++) {
		cleanup(profile_freep) struct profile *p = make_diverse(20, true);

		assert_scale(&b, i == 7 ? big : p, i == 7 ? 1 : 0, i == 7 ? 6 : 0);
	}
	/* More of them than were announced have no room. */
	empty = make_diverse(20, true);
	b.bytes = 1;
	assert_int_equal(times_budget_apply(&b, empty), 0);
	assert_int_equal(empty->n_times, 0);
	assert_int_equal(empty->n_samples, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_busy_machine),
		cmocka_unit_test(test_an_idle_machine),
		cmocka_unit_test(test_services_of_all_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
