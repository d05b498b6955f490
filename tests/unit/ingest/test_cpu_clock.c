/* SPDX-License-Identifier: MIT */
/*
 * bpf/cpu_clock.bpf.h under an event whose period changes: the samples are as many as there are
 * cells, and work in step with the event, the cells or parts of them has its share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/ingest/bpf_stubs.h"

/* daemon/ingest/ticker.h, which brings profd's side of structs that are the programs' here. */
uint64_t tick_vary_period(uint64_t period, uint32_t spread, uint32_t random);

static __u64 random_state;

static __u32 bpf_get_prandom_u32(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (__u32)(random_state >> 32);
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 3;
}

#include "bpf/cpu_clock.bpf.h"

#define CELL    10000000u /* ns */
#define SAMPLER 5
#define CHANGE  150000000u /* ns from a change to the next, and up to 50 ms more */

static __u64 period_told; /* by profd; 0: none */
static struct abi_counters counters_now;
static __u64 n_samples, began_ns;

static void *find_period(void *map, __u32 key)
{
	assert_ptr_equal(map, &tick_periods);
	assert_int_equal(key, 3 * ABI_SAMPLERS_MAX + SAMPLER);
	return &period_told;
}

static int begin_clock(void **state)
{
	(void)state;
	stubs_reset();
	stub_lookup = find_period;
	random_state = 1;
	period_told = n_samples = 0;
	now_ns = began_ns = 77777777777;
	counters_now = (struct abi_counters){
		.clock = {.next = CELL / 3, .end = CELL, .tick_ns = now_ns, .tick_period = CELL}};
	step_ns = 0;
	return 0;
}

/* The event's tick, at the time that it is. */
static bool tick_now(void)
{
	__u64 weight = cpu_clock_advance(&counters_now, SAMPLER, CELL, CELL);

	assert_true(weight == 0 || weight == CELL);
	n_samples += weight != 0;
	return weight;
}

static __u64 period_now(void)
{
	return period_told ? period_told : CELL;
}

static void change_period(void)
{
	period_told = tick_vary_period(CELL, UINT32_MAX, bpf_get_prandom_u32());
	assert_in_range(period_told, CELL / 2 - 1, CELL);
}

static void check_sums(__u64 missed_ns)
{
	assert_int_equal(counters_now.period_sum, now_ns - began_ns - missed_ns);
	/* Ends of cells are moved by up to one. */
	assert_in_range(n_samples + counters_now.clock.pending + 2, counters_now.period_sum / CELL,
			counters_now.period_sum / CELL + 3);
	assert_in_range(counters_now.clock.pending, 0, 4);
}

static void test_first_period(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		now_ns += CELL;
		tick_now();
		check_sums(0);
	}
}

/* However much of a period is cut, it counts. */
static void test_changes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		if (i % 7 == 0) {
			now_ns += bpf_get_prandom_u32() % period_now();
			change_period();
		}
		now_ns += period_now();
		tick_now();
		check_sums(0);
	}
}

/* Ticks that do not come are missing, whole periods; a part of one is not. */
static void test_missing(void **state)
{
	__u64 missed_ns = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		const __u64 n = i % 5 ? 0 : 2 + i % 3, before = period_now();

		if (i % 10 == 5) {
			now_ns += before / 3;
			change_period();
			now_ns += n * before;
		} else {
			now_ns += n * before;
		}
		missed_ns += n * before;
		now_ns += period_now();
		tick_now();
		check_sums(missed_ns);
	}
}

/* By less than half a period, and whatever changes: it does not add up. */
static void test_late(void **state)
{
	__u64 due = now_ns;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		if (i % 7 == 0) {
			due += bpf_get_prandom_u32() % period_now();
			change_period();
		}
		due += period_now();
		now_ns = due + bpf_get_prandom_u32() % (CELL / 5);
		tick_now();
		assert_in_range(counters_now.period_sum + CELL / 2, due - began_ns,
				due - began_ns + CELL);
	}
}

/* An event that is opened anew has its first period, whatever was before. */
static void test_opened_anew(void **state)
{
	__u64 sum;

	(void)state;
	now_ns += CELL;
	change_period();
	tick_now();
	sum = counters_now.period_sum;
	period_told = 0;
	now_ns += 123 * UINT64_C(1000000000);
	tick_now();
	assert_int_equal(counters_now.period_sum, sum + CELL);
}

/* Points that samples of the first @part of each @cycle are off their share, in @seconds. */
static double points_off(__u64 cycle, double part, unsigned seconds, bool varies)
{
	__u64 n_inside = 0, next_change = now_ns + CHANGE, tick_at = now_ns + period_now();

	while (now_ns < began_ns + seconds * UINT64_C(1000000000)) {
		if (varies && next_change < tick_at) {
			now_ns = next_change;
			next_change += CHANGE + bpf_get_prandom_u32() % 50000000;
			change_period();
			tick_at = now_ns + period_now();
			continue;
		}
		now_ns = tick_at;
		if (tick_now())
			n_inside += (double)(now_ns % cycle) < part * (double)cycle;
		tick_at += period_now();
	}
	return 100 * ((double)n_inside / (double)n_samples - part);
}

static void test_nothing_is_in_step(void **state)
{
	static const unsigned hz[] = {97, 99, 100, 101, 150, 198, 200, 300, 500, 997, 1000};

	for (size_t i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
		double off;

		begin_clock(state);
		/* 100,000 samples: sigma is 0.15 points for those that are independent. */
		off = points_off(1000000000 / hz[i], 0.3, 1000, true);
		print_message("%u Hz: %+.2f points\n", hz[i], off);
		assert_true(off < 1 && off > -1);
	}
	/* As the event's own period is. */
	begin_clock(state);
	assert_true(points_off(CELL, 0.3, 10, false) < -25);
}

/* What counts no time has a sample at each tick, of the event's own period. */
static void test_no_clock(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 100; i++) {
		assert_int_equal(cpu_clock_advance(&counters_now, SAMPLER, 1000 + i, 0), 1000 + i);
		assert_int_equal(counters_now.period_sum, 1000 * i + i * (i + 1) / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first_period, begin_clock),
		cmocka_unit_test_setup(test_changes, begin_clock),
		cmocka_unit_test_setup(test_missing, begin_clock),
		cmocka_unit_test_setup(test_late, begin_clock),
		cmocka_unit_test_setup(test_opened_anew, begin_clock),
		cmocka_unit_test_setup(test_nothing_is_in_step, begin_clock),
		cmocka_unit_test_setup(test_no_clock, begin_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
