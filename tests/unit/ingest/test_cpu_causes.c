/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/source_scripted.h"

#define BURN_NS NS_PER_MS

static void burn(unsigned times)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + times * BURN_NS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

/* As the unwinder does. */
static void burn_on_sample(void *userdata, const struct sample *sample)
{
	(void)sample;
	cpu_causes_switch(userdata, CPU_SAMPLING);
	burn(2);
}

/* As process_events_drain() does. */
static void burn_on_event(void *userdata, const struct process_event *event)
{
	enum cpu_cause before = cpu_causes_switch(userdata, CPU_EVENTS);

	(void)event;
	burn(3);
	cpu_causes_switch(userdata, before);
}

/* A drain counts as what it finds, and nothing is counted twice or not at all. */
static void test_drain(void **state)
{
	const struct process_event event = {.kind = PROCESS_EVENT_COMM};
	const struct sample sample = {.pid = 1};
	struct cpu_causes causes = {0};
	struct source_sink sink = {burn_on_sample, burn_on_event, &causes};
	struct source_options options = {.sink = &sink, .cpu_causes = &causes};
	struct source *source = NULL;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(source_scripted_new(&source, &options), 0);
	assert_int_equal(source_scripted_add_event(source, &event), 0);
	burn(1);
	assert_true(source_drain(source, 100) >= 0);
	assert_true(causes.ns[CPU_SAMPLING] == 0);
	assert_int_equal(source_scripted_add_sample(source, &sample), 0);
	assert_int_equal(source_scripted_add_event(source, &event), 0);
	assert_int_equal(source_scripted_add_sample(source, &sample), 0);
	assert_true(source_drain(source, 100) >= 0);
	assert_int_equal(causes.now, CPU_CONTROL);
	assert_true(causes.ns[CPU_CONTROL] >= BURN_NS);
	assert_true(causes.ns[CPU_SAMPLING] >= 4 * BURN_NS);
	assert_true(causes.ns[CPU_EVENTS] >= 6 * BURN_NS);
	for (unsigned i = 0; i < N_CPU_CAUSES; i++)
		sum += causes.ns[i];
	assert_true(sum == causes.since_ns);
	assert_true(sum <= clock_ns(CLOCK_THREAD_CPUTIME_ID));
	source_free(source);
}

static void test_nobody_wants_to_know(void **state)
{
	(void)state;
	assert_int_equal(cpu_causes_switch(NULL, CPU_EVENTS), CPU_CONTROL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_nobody_wants_to_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
