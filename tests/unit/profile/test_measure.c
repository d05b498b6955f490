/* SPDX-License-Identifier: MIT */
/* What google/pprof's head prints; tests/integration/report-random asks it for random values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/measure.h"

static void check_print(int64_t value, const char *from, const char *to, const char *expected)
{
	char text[MEASURE_TEXT_MAX];

	assert_string_equal(measure_print(text, sizeof(text), value, from, to), expected);
}

static void test_print(void **state)
{
	(void)state;
	check_print(1230000000, "nanoseconds", "auto", "1.23s");
	check_print(1230000000, "nanoseconds", "minimum", "1.23s");
	check_print(45600000, "ns", "auto", "45.60ms");
	check_print(10000000, "NanoSeconds", "auto", "10ms");
	check_print(-10000000, "nanosecond", "auto", "-10ms");
	check_print(7200, "\u03bcs", "\u03bcs", "7200us");
	check_print(7200, "s", "auto", "2hrs");
	check_print(90, "seconds", "ms", "90000ms");
	check_print(12, "milliseconds", "hours", "0");
	check_print(-12, "milliseconds", "hours", "0");
	check_print(2048, "bytes", "auto", "2kB");
	check_print(1536, "B", "kb", "1.50kB");
	check_print(3, "gigabytes", "mb", "3072MB");
	check_print(INT64_C(5) << 50, "byte", "auto", "5PB");
	check_print(1500, "milligcus", "auto", "1.50GCU");
	check_print(12, "count", "auto", "12");
	check_print(12, "samples", "minimum", "12");
	check_print(12, "samples", "count", "12");
	check_print(12, "count", "samples", "12samples");
	check_print(12, "", "", "12");
	check_print(0, "ns", "auto", "0");
	check_print(12, "x", "\x1b[2Ju\n", "12?[2Ju?");
	check_print(12, "x", "caf\xc3\xa9s", "12caf\xc3\xa9s");
	/* A unit of another kind is not one to scale to. */
	check_print(2048, "bytes", "ms", "2048B");
	check_print(1500, "ms", "kB", "1.50s");
	check_print(INT64_MAX, "count", "auto", "9223372036854775808");
	check_print(INT64_MIN, "ns", "ns", "-9223372036854775808ns");
}

static void test_cut(void **state)
{
	char text[8];

	(void)state;
	assert_string_equal(measure_print(text, sizeof(text), 1234567, "x", "parsecs"), "1234567");
	assert_string_equal(measure_print(text, sizeof(text), 123, "x", "parsecs"), "123pars");
}

static void check_percentage(int64_t value, int64_t total, const char *expected)
{
	char text[MEASURE_TEXT_MAX];

	assert_string_equal(measure_print_percentage(text, sizeof(text), value, total), expected);
}

static void test_percentage(void **state)
{
	(void)state;
	check_percentage(1, 1, "  100%");
	check_percentage(9996, 10000, "  100%");
	check_percentage(9994, 10000, "99.94%");
	check_percentage(1, 3, "33.33%");
	check_percentage(-1, 3, "33.33%");
	check_percentage(1, 100, " 1.00%");
	check_percentage(1, 1000, "  0.1%");
	check_percentage(1, 3000, "0.033%");
	check_percentage(1, 3000000, "3.3e-05%");
	check_percentage(0, 5, "    0%");
	check_percentage(5, 0, "    0%");
	check_percentage(10005, 10000, "  100%");
	check_percentage(10006, 10000, "100.06%");
	check_percentage(3, 2, "150.00%");
}

static void test_choose_unit(void **state)
{
	(void)state;
	assert_string_equal(measure_choose_unit(10000000, 20000000, "ns"), "ms");
	/* Near to the largest, but not so that the smallest has three figures behind the point. */
	assert_string_equal(measure_choose_unit(10000000, 30000000000, "nanoseconds"), "s");
	assert_string_equal(measure_choose_unit(1000, 30000000000, "nanoseconds"), "us");
	assert_string_equal(measure_choose_unit(100000000, 2000000000, "nanoseconds"), "ms");
	/* A hundred times the smallest is just the largest, and less. */
	assert_string_equal(measure_choose_unit(10000000, 1000000000, "ns"), "ms");
	assert_string_equal(measure_choose_unit(10000000, 1000000001, "ns"), "s");
	/* There is no smallest. */
	assert_string_equal(measure_choose_unit(0, 5000, "ns"), "us");
	assert_string_equal(measure_choose_unit(0, 2000000000, "nanoseconds"), "s");
	assert_string_equal(measure_choose_unit(1, 5, "samples"), "samples");
	assert_string_equal(measure_choose_unit(0, 0, "bytes"), "B");
	assert_string_equal(measure_choose_unit(INT64_MAX / 2, INT64_MAX, "bytes"), "PB");
}

static void test_ratio(void **state)
{
	(void)state;
	assert_true(measure_ratio("ms", "ns") == 1e6);
	assert_true(measure_ratio("ns", "milliseconds") == 1e-6);
	assert_true(measure_ratio("KB", "bytes") == 1024);
	assert_true(measure_ratio("samples", "samples") == 1);
	assert_true(measure_ratio("samples", "count") == 0);
	assert_true(measure_ratio("ms", "kb") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),      cmocka_unit_test(test_cut),
		cmocka_unit_test(test_percentage), cmocka_unit_test(test_choose_unit),
		cmocka_unit_test(test_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
