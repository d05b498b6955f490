/* SPDX-License-Identifier: MIT */
/*
 * bpf/waits.bpf.h and bpf/wakers.bpf.h with threads that run and wait at random on a CPU or two:
 * what is accounted for is exactly what their clocks ticked, in the states that they were in, and
 * what ended it is known.
 */
#include "tests/unit/ingest/waits_fixture.h"

static void test_ticks_add_up(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		__u64 seed = (__u64)random_next(&random) << 32 | random_next(&random);
		__u64 cell_ns = 1 + random_next(&random) % (i % 2 ? 100 : UINT32_MAX);
		__u64 a = random_next(&random), b = a + random_next(&random) % (3 * cell_ns);
		__u64 c = b + random_next(&random) % (20 * cell_ns);

		assert_int_equal(wait_ticks(seed, a, b, cell_ns) + wait_ticks(seed, b, c, cell_ns),
				 wait_ticks(seed, a, c, cell_ns));
		/* One in each cell. */
		a = a / cell_ns * cell_ns;
		assert_int_equal(wait_ticks(seed, a - 1, a + 7 * cell_ns - 1, cell_ns), a ? 7 : 0);
	}
}

/* Of the places in a cell each tenth has its share, and neighbours have nothing in common. */
static void test_ticks_are_anywhere(void **state)
{
	enum { N = 200000, PARTS = 10 };
	unsigned parts[PARTS][PARTS] = {{0}};
	__u64 before = 0;

	(void)state;
	for (__u64 i = 0; i < N; i++) {
		/* The cells of one thread, and the threads of a program that are born one by one.
		 */
		__u64 place = i < N / 2 ? wait_tick_place(77ull << 32 ^ 5, i, CELL_NS)
					: wait_tick_place(i << 32 ^ (1000000 + i * 40000), 9,
							  CELL_NS);

		assert_true(place < CELL_NS);
		parts[before * PARTS / CELL_NS][place * PARTS / CELL_NS]++;
		before = place;
	}
	/* 2,000 each, sigma 45. */
	for (int i = 0; i < PARTS; i++)
		for (int j = 0; j < PARTS; j++)
			assert_in_range(parts[i][j], 2000 - 5 * 45, 2000 + 5 * 45);
}

/* Times from a hundredth of a cell to a hundred cells. */
static __u64 random_time(uint64_t *random)
{
	static const __u64 scales[] = {CELL_NS / 100, CELL_NS / 10, CELL_NS, 100 * CELL_NS};

	return 1 + random_next(random) % scales[random_next(random) % 4];
}

static struct thread *random_queued(uint64_t *random)
{
	unsigned first = random_next(random) % N_THREADS;

	for (unsigned i = 0; i < N_THREADS; i++)
		if (threads[(first + i) % N_THREADS].state == QUEUED)
			return &threads[(first + i) % N_THREADS];
	return &idle;
}

static void run_at_random(unsigned n, uint64_t random, bool with_visits)
{
	struct seq_file seq = {.size = 32768};
	struct thread *running[N_CPUS];

	for (int i = 0; i < N_CPUS; i++)
		running[i] = &idle;
	current_task = &idle.task;
	for (unsigned i = 0; i < n; i++) {
		struct thread *sleeper = &threads[random_next(&random) % N_THREADS], *next;

		rq.clock += random_time(&random) / N_THREADS;
		if (with_visits && i % 5 == 0) {
			runs_meanwhile = random_next(&random) % N_MEANWHILE;
			visit_thread(&threads[random_next(&random) % N_THREADS], &seq);
			runs_meanwhile = NOT;
		}
		if (sleeper->state == SLEEPS) {
			current_task = &running[current_cpu]->task;
			thread_wake(sleeper);
			thread_queue(sleeper);
		}
		current_cpu = random_next(&random) % N_CPUS;
		next = random_queued(&random);
		if (next == running[current_cpu])
			continue;
		switch_to(running[current_cpu], next,
			  running[current_cpu] == &idle ? RUNS
			  : random_next(&random) % 3    ? SLEEPS
							: QUEUED);
		running[current_cpu] = next;
	}
	/* Whoever runs leaves, and whoever waits gets a CPU once more. */
	for (current_cpu = 0; current_cpu < N_CPUS; current_cpu++)
		switch_to(running[current_cpu], &idle, SLEEPS);
	current_cpu = 0;
	for (int i = 0; i < N_THREADS; i++) {
		if (threads[i].state == SLEEPS) {
			threads[i].is_woken = false;
			thread_queue(&threads[i]);
		}
		switch_to(&idle, &threads[i], RUNS);
		switch_to(&threads[i], &idle, SLEEPS);
	}
}

static void test_all_ticks_are_accounted_for(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		__u64 cpu_ticks = 0, wait_ticks_counted = 0;
		const struct abi_counters *c = &wait_counters[SAMPLER];

		setup(NULL);
		wait_wakers = wait_clocks[0].wakers = seed % 3 == 0;
		wait_visits_queued = seed % 4 == 1;
		run_at_random(20000, seed, seed % 2);
		for (int i = 0; i < N_THREADS; i++) {
			const struct thread *t = &threads[i];

			assert_int_equal(t->counted.runnable, t->truth.runnable);
			assert_int_equal(t->counted.blocked, t->truth.blocked);
			cpu_ticks += t->truth.on_cpu;
			wait_ticks_counted += t->counted.blocked + t->counted.runnable;
		}
		assert_int_equal(c->cpu_ticks, cpu_ticks);
		assert_int_equal(c->wait_ticks, wait_ticks_counted);
		assert_int_equal(c->seen, n_sent);
		assert_true(n_sent > 1000);
		assert_int_equal(n_wakers > 500, seed % 3 == 0);
		assert_int_equal(n_visited > 100, seed % 2);
		assert_int_equal(n_visited_queued > 20, seed % 4 == 1);
		for (int i = 0; i < N_LOST; i++)
			assert_int_equal(c->lost[i], 0);
		assert_int_equal(waits_unkept, 0);
		/* Nothing of anybody is kept beyond a wait. */
		for (size_t i = 0; i < ARRAY_SIZE(kept_all); i++)
			for (int j = 0; j < N_THREADS && kept_all[i].pid; j++)
				if (threads[j].task.pid == (int)kept_all[i].pid)
					assert_int_equal(threads[j].state, SLEEPS);
	}
}

/* Of switches and wake-ups one in 1,024 is timed, also by a clock that moves in large steps. */
static void test_some_are_timed(void **state)
{
	enum { N = 100 * ABI_WATCH_ONE_IN, NS_EACH = 70 };
	static const __u64 steps[] = {1, 4000000};
	const struct abi_counters *c = &wait_counters[SAMPLER];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		setup(NULL);
		wait_clocks[1] = wait_clocks[0];
		wait_clocks[0].cell_ns = 0;
		step_ns = NS_EACH;
		for (int j = 0; j < N; j++) {
			rq.clock += steps[i];
			switch_begin(&idle, &idle);
		}
		/* 100, sigma 10. */
		assert_in_range(c->watch_ns, 60 * NS_EACH, 140 * NS_EACH);
		assert_int_equal(c->watch_ns % NS_EACH, 0);
		wait_compared_at = 1;
		threads[0].task.sched_info.last_arrival = 1;
		wait_counters[SAMPLER].watch_ns = 0;
		for (int j = 0; j < N; j++) {
			rq.clock += steps[i];
			thread_becomes(&threads[0], SLEEPS);
			wake_by_current(&threads[0]);
		}
		assert_in_range(c->watch_ns, 60 * NS_EACH, 140 * NS_EACH);
	}
}

/* Without room to ask for an interrupt the sample is lost, and counted. */
static void test_a_full_ring_is_a_loss(void **state)
{
	const struct abi_counters *c = &wait_counters[SAMPLER];

	(void)state;
	is_full = true;
	run_at_random(2000, 3, false);
	assert_true(c->seen > 10);
	assert_int_equal(c->lost[LOST_RING_FULL], c->seen);
}

/* The interrupt comes when another thread has the CPU already. */
static void test_a_late_interrupt_is_a_loss(void **state)
{
	unsigned long long args[] = {0, (uintptr_t)&idle.task, (uintptr_t)&threads[0].task, 0};
	const struct abi_counters *c = &wait_counters[SAMPLER];

	(void)state;
	switch_to(&idle, &threads[1], RUNS);
	switch_to(&threads[1], &idle, SLEEPS);
	thread_queue(&threads[0]);
	rq.clock += 10 * CELL_NS;
	wait_switch(args);
	assert_int_equal(n_asked, 1);
	current_task = &threads[1].task;
	wait_take(args);
	assert_int_equal(c->seen, 1);
	assert_int_equal(c->lost[LOST_SWITCHED], 1);
	/* And nothing is left of it. */
	wait_take(args);
	assert_int_equal(c->lost[LOST_SWITCHED], 1);
}

static void test_others_are_filtered(void **state)
{
	const struct abi_counters *c = &wait_counters[SAMPLER];

	(void)state;
	samplers[SAMPLER].all = 0;
	run_at_random(2000, 4, false);
	assert_int_equal(c->seen, 0);
	assert_int_equal(n_asked, 0);
	assert_true(c->excluded > 10);
}

static __u64 number_of(const struct thread *t)
{
	const struct abi_waker *w = waits_lookup(&woken_all, (__u32)t->task.pid);

	return w && w->arrival == t->task.sched_info.last_arrival ? w->number : 0;
}

/* Clocks of one wake-up get the same walk, each in its own ring; one that does not want wakers, or
 * whose filter leaves the thread out, none. */
static void test_wakers_of_several_clocks(void **state)
{
	const struct abi_counters *c = &wait_counters[SAMPLER];

	(void)state;
	wait_wakers = 1;
	wait_clocks[0].wakers = 1;
	samplers[SAMPLER].ring_bytes = samplers[SAMPLER + 1].ring_bytes = 4096;
	samplers[SAMPLER + 1].all = 1;
	switch_to(&idle, &threads[1], RUNS);
	switch_to(&threads[1], &threads[2], SLEEPS);
	wait_clocks[1] = (struct abi_wait_clock){
		.cell_ns = CELL_NS, .since_ns = 1, .sampler = SAMPLER + 1, .wakers = 1};
	rq.clock += 10 * CELL_NS;
	n_told = 0;
	wake_by_current(&threads[1]);
	assert_int_equal(n_told, 2);
	assert_int_equal(waker_scratch_by_cpu[current_cpu].scratch.record.sampler, SAMPLER + 1);
	assert_int_equal(c->seen, 0);
	assert_int_not_equal(number_of(&threads[1]), 0);
	wait_clocks[1].wakers = 0;

	/* It is woken anew before it has run: the last one counts. */
	thread_wake(&threads[1]);
	assert_int_equal(n_wakers, 1);
	assert_int_equal(number_of(&threads[1]), threads[1].waker);
	/* What an interrupt ran cannot be told without the kernel's stack. */
	has_stack = false;
	wake_by_current(&threads[1]);
	assert_int_equal(number_of(&threads[1]), threads[1].waker);
	has_stack = true;

	wait_clocks[0].wakers = 0;
	thread_wake(&threads[1]);
	assert_int_equal(n_wakers, 1);
	wait_clocks[0].wakers = 1;
	samplers[SAMPLER].all = 0;
	thread_wake(&threads[1]);
	assert_int_equal(n_wakers, 1);
	assert_int_equal(c->excluded, 0);
	wait_clocks[1] = (struct abi_wait_clock){0};
}

/* When a clock ends, who has not run yet has waited, too; and not once more at its first switch. */
static void test_new_threads_at_the_end(void **state)
{
	struct seq_file seq = {.size = 32768};
	struct thread *t = &threads[0];

	(void)state;
	current_task = &idle.task;
	rq.curr = &idle.task;
	wait_clocks[0].since_ns = rq.clock;
	thread_queue(t);
	rq.clock += 10 * CELL_NS;
	visit_thread(t, &seq);
	assert_int_equal(n_visited, 0);
	wait_visits_queued = 1;
	visit_thread(t, &seq);
	assert_int_equal(n_visited_queued, 1);
	assert_in_range(t->counted.runnable, 9, 11); /* one in each cell */
	assert_int_equal(t->counted.blocked, 0);
	switch_to(&idle, t, RUNS);
	assert_int_equal(t->counted.runnable, t->truth.runnable);
}

/* What does not fit in is visited again. */
static void test_a_full_buffer(void **state)
{
	const struct abi_counters *c = &wait_counters[SAMPLER];
	struct seq_file seq = {.size = 32768, .count = 32768 - sizeof(struct abi_sample)};
	struct bpf_iter_meta meta = {.seq = &seq};
	struct bpf_iter__task context = {.meta = &meta, .task = &threads[0].task};

	(void)state;
	current_task = &idle.task;
	wait_clocks[0].since_ns = rq.clock;
	threads[0].task.sched_info.last_arrival = rq.clock;
	thread_becomes(&threads[0], SLEEPS);
	rq.clock += 5 * CELL_NS;
	wait_visit(&context);
	assert_int_equal(c->seen, 0);
	visit_thread(&threads[0], &seq);
	assert_int_equal(c->seen, 1);
	assert_int_equal(threads[0].counted.blocked, 5);
	visit_thread(&threads[0], &seq);
	assert_int_equal(c->seen, 1);
}

static void test_states(void **state)
{
	(void)state;
	assert_int_equal(wait_state_of(&threads[0].task), WAIT_SLEEP);
	threads[0].task.in_iowait = 1;
	assert_int_equal(wait_state_of(&threads[0].task), WAIT_DISK);
	threads[0].task.in_iowait = 0;
	threads[0].task.sched_contributes_to_load = 1;
	assert_int_equal(wait_state_of(&threads[0].task), WAIT_DISK);
	entry_regs = (struct pt_regs){.orig_ax = 202, .cx = 0x1000, .ip = 0x1000, .cs = 0x33};
	assert_int_equal(wait_call_of(&threads[0].task), 202);
	entry_regs.orig_ax = (unsigned long)-1;
	assert_int_equal(wait_call_of(&threads[0].task), WAIT_NO_CALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_add_up),
		cmocka_unit_test(test_ticks_are_anywhere),
		cmocka_unit_test_setup(test_all_ticks_are_accounted_for, setup),
		cmocka_unit_test_setup(test_some_are_timed, setup),
		cmocka_unit_test_setup(test_a_full_ring_is_a_loss, setup),
		cmocka_unit_test_setup(test_a_late_interrupt_is_a_loss, setup),
		cmocka_unit_test_setup(test_others_are_filtered, setup),
		cmocka_unit_test_setup(test_wakers_of_several_clocks, setup),
		cmocka_unit_test_setup(test_new_threads_at_the_end, setup),
		cmocka_unit_test_setup(test_a_full_buffer, setup),
		cmocka_unit_test_setup(test_states, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
