/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include <errno.h>

#include "daemon/ingest/sources.h"

static struct event parse(const char *name)
{
	struct source_message message;
	struct event event;

	assert_int_equal(event_parse(name, &event, &message), SOURCE_E_OK);
	return event;
}

static void test_names(void **state)
{
	struct event e;

	(void)state;
	e = parse("cpu-clock");
	assert_string_equal(e.name, "cpu-clock");
	assert_int_equal(e.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(e.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_true(e.is_clock && !e.exclude_user && !e.exclude_kernel);
	assert_true(parse("task-clock").is_clock);
	e = parse("cycles:u");
	assert_string_equal(e.name, "cycles:u");
	assert_true(e.exclude_kernel && !e.exclude_user && !e.is_clock);
	e = parse("instructions:k");
	assert_true(e.exclude_user && !e.exclude_kernel);
	e = parse("off-cpu");
	assert_true(e.is_clock && e.cause == CAUSE_SCHEDULER);
	assert_int_equal(parse("page-faults").config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(parse("context-switches").type, PERF_TYPE_SOFTWARE);
	assert_int_equal(parse("cache-misses").type, PERF_TYPE_HARDWARE);
	assert_int_equal(parse("branch-misses").config, PERF_COUNT_HW_BRANCH_MISSES);
}

static void test_raw(void **state)
{
	struct event e = parse("r1C2:u");

	(void)state;
	assert_int_equal(e.type, PERF_TYPE_RAW);
	assert_int_equal(e.config, 0x1c2);
	assert_string_equal(e.name, "r01c2:u");
	assert_int_equal(parse("rffffffffffffffff").config, UINT64_MAX);
}

static void test_auto(void **state)
{
	struct source_message message;
	struct event e;

	(void)state;
	assert_int_equal(event_parse("auto:u", &e, &message), SOURCE_E_OK);
	if (strcmp(e.name, "cycles:u") == 0) {
		assert_string_equal(message.text, "");
	} else {
		assert_string_equal(e.name, "cpu-clock:u");
		assert_non_null(strstr(message.text, "cpu-clock"));
	}
}

static void test_refused(void **state)
{
	static const char *const names[] = {"",
					    "cycle",
					    "cycles:",
					    "cycles:uk",
					    "cycles:x",
					    "off-cpu:u",
					    "r",
					    "r12g",
					    "r11112222333344445",
					    ":u",
					    "cpu-clock-and-a-name-that-does-not-end"};
	struct source_message message;
	struct event e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		message.text[0] = '\0';
		assert_int_equal(event_parse(names[i], &e, &message), SOURCE_E_UNSUPPORTED);
		assert_non_null(strstr(message.text, "unknown event"));
	}
}

static void test_attributes(void **state)
{
	struct sampler_spec spec = {.event = parse("cpu-clock:u"), .rate = 99};
	struct perf_event_attr attr;

	(void)state;
	event_attr(&spec, &attr);
	assert_true(attr.disabled && attr.freq);
	assert_int_equal(attr.sample_freq, 99);
	/* A clock counts on in the kernel: the tick must come, to be counted as excluded. */
	assert_true(event_excludes_by_source(&spec.event));
	assert_false(attr.exclude_kernel);
	assert_int_equal(event_ticks_per_second(&spec), 99);
	spec.is_period = true;
	spec.rate = 250000;
	event_attr(&spec, &attr);
	assert_false(attr.freq);
	assert_int_equal(attr.sample_period, 250000);
	assert_int_equal(event_ticks_per_second(&spec), 4000);
	spec.event = parse("cycles:u");
	event_attr(&spec, &attr);
	assert_true(attr.exclude_kernel);
	assert_false(event_excludes_by_source(&spec.event));
}

static void test_explain(void **state)
{
	const struct sampler_spec spec = {.event = parse("cycles"), .rate = 99};
	struct source_message message;

	(void)state;
	assert_int_equal(event_explain(-EACCES, &spec, &message), SOURCE_E_DENIED);
	assert_non_null(strstr(message.text, "CAP_PERFMON"));
	assert_int_equal(event_explain(-ENOENT, &spec, &message), SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "cpu-clock"));
	assert_int_equal(event_explain(-EINVAL, &spec, &message), SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "frequency 99"));
	assert_int_equal(event_explain(-ENOMEM, &spec, &message), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),      cmocka_unit_test(test_raw),
		cmocka_unit_test(test_auto),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_attributes), cmocka_unit_test(test_explain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
