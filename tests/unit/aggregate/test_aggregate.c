/* SPDX-License-Identifier: MIT */
/* Counting is checked against a plain array of all samples; the bound against aggregate_bytes(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/frame.h"
#include "common/reasons.h"
#include "daemon/aggregate/aggregate.h"
#include "tests/support/random.h"

#define N_SAMPLES  40000
#define N_DISTINCT 4000

/* Stack number @n: its frames differ from those of other numbers in a few words only. */
static struct stack make_stack(uint32_t n, uint64_t frames[8])
{
	uint32_t length = 1 + n % 8;

	for (uint32_t i = 0; i < length; i++)
		frames[i] = 0x400000 + (n / 8) * 16 * (i == length - 1) + i;
	return (struct stack){.frames = frames,
			      .n_frames = length,
			      .n_kernel = 0,
			      .quality = n % 3 == 0 ? STACK_BROKEN : STACK_COMPLETE};
}

static void test_counts_equal_a_plain_list(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL;
	static uint64_t counts[N_DISTINCT], weights[N_DISTINCT];
	const struct aggregate_entry *entries;
	uint64_t frames[8];
	uint64_t seed = 1;
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, SIZE_MAX), 0);
	for (int i = 0; i < N_SAMPLES; i++) {
		uint32_t which = random_next(&seed) % N_DISTINCT;
		struct aggregate_key key = {.process = 1 + which % 3,
					    .generation = which % 2,
					    .thread_name = which % 5 ? "worker" : "main",
					    .stack = make_stack(which, frames)};

		assert_int_equal(aggregate_add(a, &key, 1, 10 + which), AGGREGATE_E_OK);
		counts[which]++;
		weights[which] += 10 + which;
	}

	entries = aggregate_entries(a, &n);
	assert_int_equal(aggregate_count(a), N_SAMPLES);
	for (uint32_t which = 0; which < N_DISTINCT; which++) {
		struct stack wanted = make_stack(which, frames);
		uint64_t count = 0, weight = 0;

		for (size_t i = 0; i < n; i++) {
			struct stack have = aggregate_stack(a, entries[i].stack);

			if (have.n_frames != wanted.n_frames || have.quality != wanted.quality ||
			    entries[i].process != 1 + which % 3 ||
			    entries[i].generation != which % 2 ||
			    strcmp(aggregate_thread_name(a, entries[i].thread_name),
				   which % 5 ? "worker" : "main") != 0 ||
			    memcmp(have.frames, frames, have.n_frames * sizeof(*frames)) != 0)
				continue;
			count += entries[i].count;
			weight += entries[i].weight;
		}
		assert_int_equal(count, counts[which]);
		assert_int_equal(weight, weights[which]);
	}
}

/* The number of a stack that was counted last. */
static uint32_t add_stack(struct aggregate *a, uint64_t process, struct stack stack)
{
	struct aggregate_key key = {.process = process, .thread_name = "t", .stack = stack};
	const struct aggregate_entry *entries;
	size_t n;

	assert_int_equal(aggregate_add(a, &key, 1, 1), AGGREGATE_E_OK);
	entries = aggregate_entries(a, &n);
	return entries[n - 1].stack;
}

/* What differs only in how the walk ended, or where the kernel part ends, is another stack. */
static void test_equality_compares_everything(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL;
	uint64_t frames[] = {1, 2, 3};
	struct stack stack = {.frames = frames, .n_frames = 3};
	uint32_t first;

	(void)state;
	assert_int_equal(aggregate_new(&a, SIZE_MAX), 0);
	first = add_stack(a, 1, stack);
	assert_int_equal(first, 0);
	assert_int_equal(add_stack(a, 2, stack), first);
	stack.quality = STACK_TRUNCATED;
	assert_int_equal(add_stack(a, 3, stack), 1);
	stack.quality = 0;
	stack.n_kernel = 1;
	assert_int_equal(add_stack(a, 4, stack), 2);
	stack.n_kernel = 0;
	stack.reason = 1;
	assert_int_equal(add_stack(a, 5, stack), 3);
	stack.reason = 0;
	stack.n_frames = 2;
	assert_int_equal(add_stack(a, 6, stack), 4);
	stack.n_frames = 0;
	assert_int_equal(add_stack(a, 7, stack), 5);
	assert_int_equal(aggregate_stack(a, 5).n_frames, 0);
}

static void test_bound_is_never_passed(void **state)
{
	for (size_t max = 16 * 1024; max <= 4 * 1024 * 1024; max = max * 3 / 2) {
		cleanup(aggregate_freep) struct aggregate *a = NULL;
		uint64_t counted = 0, refused = 0;

		assert_int_equal(aggregate_new(&a, max), 0);
		for (uint32_t i = 0; i < 30000; i++) {
			uint64_t frames[40];
			struct aggregate_key key = {.process = i,
						    .thread_name = "t",
						    .stack = {.frames = frames,
							      .n_frames = 1 + i % 40}};
			int r;

			for (uint32_t f = 0; f < 40; f++)
				frames[f] = (uint64_t)i << 8 | f;
			r = aggregate_add(a, &key, 1, 1);
			assert_true(r == AGGREGATE_E_OK || r == AGGREGATE_E_FULL);
			counted += r == AGGREGATE_E_OK;
			refused += r == AGGREGATE_E_FULL;
			assert_true(aggregate_bytes(a) <= max ||
				    aggregate_count(a) == 0 /* the empty tables */);
		}
		assert_int_equal(aggregate_count(a), counted);
		assert_int_equal(counted + refused, 30000);
		assert_true(refused > 0);
	}
	(void)state;
}

/* What is there already can still be counted when nothing new fits. */
static void test_known_stacks_count_when_full(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL;
	uint64_t frame = 7;
	struct aggregate_key key = {.process = 1,
				    .thread_name = "t",
				    .stack = {.frames = &frame, .n_frames = 1}};

	(void)state;
	assert_int_equal(aggregate_new(&a, 128 * 1024), 0);
	assert_int_equal(aggregate_add(a, &key, 1, 1), AGGREGATE_E_OK);
	for (;;) {
		key.process++;
		if (aggregate_add(a, &key, 1, 1) == AGGREGATE_E_FULL)
			break;
	}
	key.process = 1;
	assert_int_equal(aggregate_add(a, &key, 5, 50), AGGREGATE_E_OK);
}

/* The state and the call of a wait are read back from its number, and 0 is none. */
static void test_waits_as_numbers(void **state)
{
	static const int calls[] = {WAIT_NO_CALL, 0, 1, 202, INT16_MAX};

	(void)state;
	assert_int_equal(aggregate_wait(WAIT_NONE, 5), 0);
	for (unsigned s = WAIT_NONE + 1; s < N_WAIT_STATES; s++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
			const uint32_t wait = aggregate_wait((enum wait_state)s, calls[i]);

			assert_int_equal(aggregate_wait_state(wait), s);
			assert_int_equal(aggregate_wait_call(wait), calls[i]);
		}
}

/* The same stack on a CPU, in two system calls and in two states: five entries, also in a copy. */
static void test_waits_are_entries_of_their_own(void **state)
{
	const uint32_t waits[] = {0, aggregate_wait(WAIT_SLEEP, 0), aggregate_wait(WAIT_SLEEP, 1),
				  aggregate_wait(WAIT_DISK, 0),
				  aggregate_wait(WAIT_RUNNABLE, WAIT_NO_CALL)};
	const size_t n_waits = sizeof(waits) / sizeof(*waits);
	cleanup(aggregate_freep) struct aggregate *a = NULL, *copy = NULL;
	const struct aggregate_entry *entries;
	const uint64_t frame = 7;
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, SIZE_MAX), 0);
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < n_waits; i++) {
			const struct aggregate_key key = {.process = 1,
							  .time_ns = 1700000000000000000,
							  .wait = waits[i],
							  .thread_name = "t",
							  .stack = {.frames = &frame,
								    .n_frames = 1}};

			assert_int_equal(aggregate_add(a, &key, 1, 10 + i), AGGREGATE_E_OK);
		}
	entries = aggregate_entries(a, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(aggregate_add_entry(copy, a, &entries[i]), AGGREGATE_E_OK);
	entries = aggregate_entries(copy, &n);
	assert_int_equal(n, n_waits);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(entries[i].wait, waits[i]);
		assert_int_equal(entries[i].count, 2);
		assert_int_equal(entries[i].weight, 2 * (10 + i));
		/* Waits have no times. */
		assert_int_equal(entries[i].times != 0, i == 0);
	}
	assert_int_equal(aggregate_stack(copy, entries[n - 1].stack).n_frames, 1);
	assert_int_equal(entries[n - 1].stack, entries[0].stack);
}

/* What differs in any part is another waker, and a wait that each of them ended an entry of its
 * own; a copy has the same. */
static void test_wakers(void **state)
{
	cleanup(aggregate_freep) struct aggregate *a = NULL, *copy = NULL;
	const uint64_t frames[] = {7, 8};
	const struct aggregate_key wakers[] = {
		{.process = 1, .thread_name = "t", .stack = {.frames = frames, .n_frames = 2}},
		{.process = 2, .thread_name = "t", .stack = {.frames = frames, .n_frames = 2}},
		{.process = 1,
		 .generation = 1,
		 .thread_name = "t",
		 .stack = {.frames = frames, .n_frames = 2}},
		{.process = 1, .thread_name = "u", .stack = {.frames = frames, .n_frames = 2}},
		{.process = 1, .thread_name = "t", .stack = {.frames = frames, .n_frames = 1}},
		{.process = 1, .thread_name = "t", .stack = {.frames = frames, .n_frames = 1}},
	};
	const size_t n_wakers = sizeof(wakers) / sizeof(*wakers);
	const struct aggregate_entry *entries;
	uint32_t numbers[sizeof(wakers) / sizeof(*wakers)];
	size_t n;

	(void)state;
	assert_int_equal(aggregate_new(&a, SIZE_MAX), 0);
	assert_int_equal(aggregate_new(&copy, SIZE_MAX), 0);
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < n_wakers; i++) {
			struct aggregate_key key = {.process = 9,
						    .wait = aggregate_wait(WAIT_SLEEP, 202),
						    .thread_name = "w",
						    .stack = {.frames = frames, .n_frames = 2}};

			/* The last one is an interrupt. */
			assert_int_equal(aggregate_add_waker(a, &wakers[i], i == n_wakers - 1,
							     &key.waker),
					 AGGREGATE_E_OK);
			assert_true(!round || key.waker == numbers[i]);
			numbers[i] = key.waker;
			assert_int_equal(aggregate_add(a, &key, 1, 10), AGGREGATE_E_OK);
		}
	assert_int_equal(aggregate_n_wakers(a), n_wakers);
	entries = aggregate_entries(a, &n);
	assert_int_equal(n, n_wakers);
	/* The other way round: they get other numbers. */
	for (size_t i = n; i-- > 0;)
		assert_int_equal(aggregate_add_entry(copy, a, &entries[i]), AGGREGATE_E_OK);
	entries = aggregate_entries(copy, &n);
	assert_int_equal(n, n_wakers);
	for (size_t i = 0; i < n; i++) {
		const struct aggregate_key *wanted = &wakers[n - 1 - i];
		const struct aggregate_waker *w = aggregate_waker(copy, entries[i].waker);
		const struct stack stack = aggregate_stack(copy, w->stack);

		assert_int_equal(entries[i].count, 2);
		assert_int_equal(w->process, wanted->process);
		assert_int_equal(w->generation, wanted->generation);
		assert_int_equal(w->by_interrupt, i == 0);
		assert_string_equal(aggregate_thread_name(copy, w->thread_name),
				    wanted->thread_name);
		assert_int_equal(stack.n_frames, wanted->stack.n_frames);
		assert_memory_equal(stack.frames, frames, stack.n_frames * sizeof(*frames));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_equal_a_plain_list),
		cmocka_unit_test(test_equality_compares_everything),
		cmocka_unit_test(test_bound_is_never_passed),
		cmocka_unit_test(test_known_stacks_count_when_full),
		cmocka_unit_test(test_waits_as_numbers),
		cmocka_unit_test(test_waits_are_entries_of_their_own),
		cmocka_unit_test(test_wakers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
