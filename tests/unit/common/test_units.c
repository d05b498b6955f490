/* SPDX-License-Identifier: MIT */
#include "common/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"

#define S    UINT64_C(1000000000)
#define NOON (UINT64_C(1795262400) * S) /* 2026-11-21T12:00:00Z */

static uint64_t duration(const char *text)
{
	uint64_t ns = 0;

	assert_int_equal(units_parse_duration(text, &ns), UNITS_E_OK);
	return ns;
}

/* As perf(1), top(1) and sleep(1) have them: seconds where there is no unit. */
static void test_seconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"10", 10 * S},   {"0.5", S / 2},   {"2.", 2 * S},
		    {"0", 0},         {"1m", 60 * S},   {"1.000000001", S + 1},
		    {"500ms", S / 2}, {"1m5s", 65 * S}, {"0.00000000099999", 0}};
	static const char *const bad[] = {"",     ".5", "0x10",  "1e3", "-1",
					  "1.5s", "1 ", "1.2.3", "inf"};
	uint64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(units_parse_seconds(bad[i], &ns), UNITS_E_INVALID);
	assert_int_equal(units_parse_seconds("18446744074", &ns), UNITS_E_RANGE);
	assert_int_equal(units_parse_seconds("18446744073.9", &ns), UNITS_E_RANGE);
	assert_int_equal(ns, 42);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(units_parse_seconds(good[i].text, &ns), UNITS_E_OK);
		assert_int_equal(ns, good[i].ns);
	}
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"500ms", S / 2}, {"10s", 10 * S},    {"5m", 300 * S},
		    {"1h", 3600 * S}, {"7d", 604800 * S}, {"0", 0}};
	static const char *const bad[] = {"",    "10",  "s",   "-1s", "1.5s",  "10 s",  " 1s",
					  "1s ", "1sm", "1S",  "+1s", "30m2h", "1h30",  "1h1h",
					  "1hm", "1h0", "0h1", "1y",  "00x",   "1w 2d", "2h-30m"};
	char buffer[UNITS_TEXT_MAX];
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(units_parse_duration(good[i].text, &ns), UNITS_E_OK);
		assert_int_equal(ns, good[i].ns);
		assert_string_equal(units_print_duration(buffer, sizeof(buffer), ns), good[i].text);
	}
	assert_int_equal(duration("1w"), 604800 * S);
	assert_int_equal(duration("2h30m"), 9000 * S);
	assert_int_equal(duration("1w2d3h4m5s6ms"), (788645 * S) + 6 * (S / 1000));
	ns = 42;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(units_parse_duration(bad[i], &ns), UNITS_E_INVALID);
	assert_int_equal(units_parse_duration("99999999999999999999999s", &ns), UNITS_E_RANGE);
	assert_int_equal(units_parse_duration("300000d", &ns), UNITS_E_RANGE);
	assert_int_equal(units_parse_duration("30000w30000d", &ns), UNITS_E_RANGE);
	assert_int_equal(ns, 42);
	assert_string_equal(units_print_duration(buffer, sizeof(buffer), 60 * S), "1m");
	assert_string_equal(units_print_duration(buffer, sizeof(buffer), 90 * S), "90s");
	assert_string_equal(units_print_duration(buffer, sizeof(buffer), 1), "0");
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"64K", 65536}, {"512M", UINT64_C(512) << 20}, {"2G", UINT64_C(2) << 30},
		    {"1000", 1000}, {"3T", UINT64_C(3) << 40},     {"0", 0}};
	static const char *const bad[] = {"",   "K",    "1k",     "1KB", "1 K",
					  "-1", "1.5G", "1G512M", "1K5"};
	char buffer[UNITS_TEXT_MAX];
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(units_parse_size(good[i].text, &bytes), UNITS_E_OK);
		assert_int_equal(bytes, good[i].bytes);
		assert_string_equal(units_print_size(buffer, sizeof(buffer), bytes), good[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(units_parse_size(bad[i], &bytes), UNITS_E_INVALID);
	assert_int_equal(units_parse_size("18446744073709551615", &bytes), UNITS_E_OK);
	assert_int_equal(bytes, UINT64_MAX);
	assert_int_equal(units_parse_size("18446744073709551616", &bytes), UNITS_E_RANGE);
	assert_int_equal(units_parse_size("18446744073709551615K", &bytes), UNITS_E_RANGE);
}

static void test_shares(void **state)
{
	static const char *const texts[] = {"1%", "2.5%", "0%", "100%", "0.001%", "33.333%"};
	char buffer[UNITS_TEXT_MAX];
	double share;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(units_parse_share(texts[i], &share), UNITS_E_OK);
		assert_string_equal(units_print_share(buffer, sizeof(buffer), share), texts[i]);
	}
	assert_int_equal(units_parse_share("2.5%", &share), UNITS_E_OK);
	assert_true(fabs(share - 0.025) < 1e-12);
	assert_int_equal(units_parse_share("1", &share), UNITS_E_INVALID);
	assert_int_equal(units_parse_share("%", &share), UNITS_E_INVALID);
	assert_int_equal(units_parse_share("1.%", &share), UNITS_E_INVALID);
	assert_int_equal(units_parse_share("101%", &share), UNITS_E_RANGE);
	assert_int_equal(units_parse_share("100.5%", &share), UNITS_E_RANGE);
}

static uint64_t moment(const char *text)
{
	uint64_t ns = 0;

	assert_int_equal(units_parse_moment(text, NOON, &ns), UNITS_E_OK);
	return ns;
}

static void test_moments_utc(void **state)
{
	static const char *const invalid[] = {"",           "nowZ",        "12",
					      "1:30",       "24:01",       "12:60",
					      "12:00:61",   "12:00x",      "-10",
					      "2026-11-2",  "tomorrow",    "todayish",
					      "2026/11/21", "2026-11-21T", "2026-11-21T12:00+1",
					      "today ",     "today14:03",  "yesterday 1:30",
					      "now 12:00",  "-1h 12:00",   "yesterday today"};
	static const char *const out_of_range[] = {"2026-02-30", "2026-00-10", "2026-01-00",
						   "1969-12-31", "-99999d"};
	uint64_t ns = 42;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(moment("-10m"), NOON - 600 * S);
	assert_int_equal(moment("-1w"), NOON - 604800 * S);
	assert_int_equal(moment("-2h30m"), NOON - 9000 * S);
	assert_int_equal(moment("yesterday 14:03"), NOON - 24 * 3600 * S + 7380 * S);
	assert_int_equal(moment("today 11:59:59Z"), NOON - S);
	assert_int_equal(moment("yesterday 24:00"), moment("today"));
	assert_int_equal(moment("11:30"), NOON - 1800 * S);
	assert_int_equal(moment("now"), NOON);
	assert_int_equal(moment("24:00"), NOON + 12 * 3600 * S);
	assert_int_equal(moment("24:00:00Z"), NOON + 12 * 3600 * S);
	assert_int_equal(moment("2026-10-31T24:00"), moment("2026-11-01"));
	assert_int_equal(moment("2026-12-31T24:00:00+01:00"), moment("2026-12-31T23:00:00Z"));
	assert_int_equal(moment("11:59:59"), NOON - S);
	assert_int_equal(moment("today"), NOON - 12 * 3600 * S);
	assert_int_equal(moment("yesterday"), NOON - 36 * 3600 * S);
	assert_int_equal(moment("2026-11-21T12:00:00Z"), NOON);
	assert_int_equal(moment("2026-11-21T12:00:00.25Z"), NOON + S / 4);
	assert_int_equal(moment("2026-11-21T12:00:00.0000000019Z"), NOON + 1);
	assert_int_equal(moment("2026-11-21T13:00:00+01:00"), NOON);
	assert_int_equal(moment("2026-11-21T06:30:00-05:30"), NOON);
	assert_int_equal(moment("2026-11-21 12:00"), NOON);
	assert_int_equal(moment("2026-11-21"), NOON - 12 * 3600 * S);
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		assert_int_equal(units_parse_moment(invalid[i], NOON, &ns), UNITS_E_INVALID);
	for (size_t i = 0; i < ARRAY_SIZE(out_of_range); i++)
		assert_int_equal(units_parse_moment(out_of_range[i], NOON, &ns), UNITS_E_RANGE);
	assert_int_equal(ns, 42);
}

static void test_moments_local(void **state)
{
	uint64_t first = UINT64_C(1798804800) * S; /* 2027-01-01T12:00:00Z */
	char buffer[UNITS_TEXT_MAX];
	uint64_t ns;

	(void)state;
	setenv("TZ", "XYZ-02:00", 1); /* two hours east of Greenwich */
	tzset();
	assert_int_equal(moment("14:00"), NOON);
	assert_int_equal(moment("12:00Z"), NOON);
	assert_int_equal(moment("today"), NOON - 14 * 3600 * S);
	assert_int_equal(moment("todayZ"), NOON - 12 * 3600 * S);
	assert_int_equal(moment("2026-11-21T14:00"), NOON);
	assert_int_equal(moment("2026-11-21T12:00:00Z"), NOON);
	assert_string_equal(units_print_moment(buffer, sizeof(buffer), NOON, false),
			    "2026-11-21T14:00:00+02:00");
	assert_string_equal(units_print_moment(buffer, sizeof(buffer), NOON, true),
			    "2026-11-21T12:00:00Z");
	/* The day before the first of a year. */
	assert_int_equal(units_parse_moment("yesterdayZ", first, &ns), UNITS_E_OK);
	assert_string_equal(units_print_moment(buffer, sizeof(buffer), ns, true),
			    "2026-12-31T00:00:00Z");
	/* What is printed reads back. */
	assert_int_equal(moment(units_print_moment(buffer, sizeof(buffer), NOON, false)), NOON);
}

static void test_moments_of_two_words(void **state)
{
	(void)state;
	assert_true(units_moment_continues("2026-11-23", "14:00"));
	assert_true(units_moment_continues("yesterday", "14:03:09Z"));
	assert_true(units_moment_continues("today", "24:61")); /* refused as one */
	assert_false(units_moment_continues("2026-11-23T14:00", "14:00"));
	assert_false(units_moment_continues("-1h", "14:00"));
	assert_false(units_moment_continues("14:00", "14:00"));
	assert_false(units_moment_continues("yesterday", "1"));
	assert_false(units_moment_continues("yesterday", "profile.pb.gz"));
	assert_false(units_moment_continues("today", "14:00:00.000000000000000000000000"));
}

static void test_for_people(void **state)
{
	char b[UNITS_TEXT_MAX];

	(void)state;
	assert_string_equal(units_print_size_short(b, sizeof(b), 0), "0 B");
	assert_string_equal(units_print_size_short(b, sizeof(b), 1023), "1023 B");
	assert_string_equal(units_print_size_short(b, sizeof(b), 1536), "1.5 KiB");
	assert_string_equal(units_print_size_short(b, sizeof(b), UINT64_C(128) << 20), "128 MiB");
	assert_string_equal(units_print_size_short(b, sizeof(b), UINT64_MAX), "16 EiB");
	assert_string_equal(units_print_span(b, sizeof(b), 0.0123), "12.3 ms");
	assert_string_equal(units_print_span(b, sizeof(b), 5.25), "5.2 s");
	assert_string_equal(units_print_span(b, sizeof(b), 61), "1 min 1 s");
	assert_string_equal(units_print_span(b, sizeof(b), 7384), "2 h 3 min");
	assert_string_equal(units_print_span(b, sizeof(b), 86400 * 3.5), "3 d 12 h");
	assert_string_equal(units_print_span(b, sizeof(b), NAN), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),     cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_shares),        cmocka_unit_test(test_moments_utc),
		cmocka_unit_test(test_seconds),       cmocka_unit_test(test_moments_of_two_words),
		cmocka_unit_test(test_moments_local), cmocka_unit_test(test_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
