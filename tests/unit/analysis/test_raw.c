/* SPDX-License-Identifier: MIT */
/* A profile as it is, in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/fixture.h"

#define MS INT64_C(1000000)

static char *raw_text(const struct profile *p)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	assert_int_equal(raw_write(p, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_raw(void **state)
{
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000, .has_functions = true};
	struct profile_function function = {.start_line = 5};
	struct profile_line lines[2] = {{.line = 7}, {.line = 9, .column = 12}};
	struct profile_label labels[2] = {{0}, {.num = 5}};
	const int64_t values[2] = {3, 30};
	struct fixture *f = *state;
	cleanup(freep) char *text = NULL;
	uint32_t m, locations[2];

	mapping.path = fixture_text(f, "/bin/x");
	assert_int_equal(profile_add_mapping(f->p, &mapping, &m), 0);
	function.name = fixture_text(f, "inner");
	function.system_name = fixture_text(f, "_inner");
	function.filename = fixture_text(f, "in.c");
	assert_int_equal(profile_add_function(f->p, &function, &lines[0].function), 0);
	function.name = function.system_name = fixture_text(f, "outer");
	assert_int_equal(profile_add_function(f->p, &function, &lines[1].function), 0);
	assert_int_equal(profile_add_location(f->p, m, 0x1234, lines, 2, &locations[0]), 0);
	assert_int_equal(profile_add_location(f->p, PROFILE_NONE, 0, NULL, 0, &locations[1]), 0);
	labels[0].key = fixture_text(f, "comm");
	labels[0].str = fixture_text(f, "sh\x1b[2J");
	labels[1].key = fixture_text(f, "n");
	assert_int_equal(profile_add_sample(f->p, locations, 2, values, labels, 2), 0);
	f->p->default_sample_type = fixture_text(f, "cpu");
	f->p->period = 10;
	f->p->duration_ns = 61500 * MS;
	text = raw_text(f->p);
	assert_string_equal(text, "Period: 10\nDuration: 1m1.\nSamples:\n"
				  "samples/count cpu/nanoseconds[dflt]\n"
				  "          3         30: 1 2 \n"
				  "                comm:[sh?[2J]\n"
				  "                n:[5]\n"
				  "Locations\n"
				  "     1: 0x1234 M=1 inner in.c:7:0 s=5(_inner)\n"
				  "             outer in.c:9:12 s=5\n"
				  "     2: 0x0 \n"
				  "Mappings\n"
				  "1: 0x1000/0x2000/0x0 /bin/x  [FN]\n");
}

/* As Go prints durations, of which pprof takes four characters. */
static void test_raw_durations(void **state)
{
	static const struct {
		int64_t ns;
		const char *line;
	} cases[] = {
		{999, "\nDuration: 999n\n"},
		{1000, "\nDuration: 1\xc2\xb5s\n"},
		{1500 * 1000, "\nDuration: 1.5m\n"},
		{1000 * MS, "\nDuration: 1s\n"},
		{59 * 60 * 1000 * MS, "\nDuration: 59m0\n"},
		{60 * 60 * 1000 * MS, "\nDuration: 1h0m\n"},
		{-90 * 1000 * MS, "\nDuration: -1m3\n"},
		{INT64_MIN, "\nDuration: -256\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(freep) char *text = NULL;

		f->p->duration_ns = cases[i].ns;
		text = raw_text(f->p);
		assert_contains(text, cases[i].line);
	}
}

static void test_raw_details(void **state)
{
	struct profile_label labels[3] = {{.num = 5}, {.num = 6}, {.num = 7}};
	struct fixture *f = *state;
	uint32_t location;
	char *text;

	setenv("TZ", "UTC", 1);
	tzset();
	f->p->time_ns = -1;
	f->p->period_type.type = fixture_text(f, "cpu");
	f->p->sample_types[0].type = 0;
	labels[0].key = labels[2].key = fixture_text(f, "z");
	labels[1].key = fixture_text(f, "a");
	labels[2].num_unit = fixture_text(f, "bytes");
	assert_int_equal(profile_add_location(f->p, PROFILE_NONE, 16, NULL, 0, &location), 0);
	f->p->locations[location].is_folded = true;
	assert_int_equal(
		profile_add_sample(f->p, &location, 1, (const int64_t[]){3, 30}, labels, 3), 0);
	text = raw_text(f->p);
	assert_contains(text, "PeriodType: cpu \n");
	assert_contains(text, "Time: 1969-12-31 23:59:59.999999999 +0000 UTC\n");
	assert_contains(text, "Samples:\n/count cpu/nanoseconds\n");
	assert_contains(text, "                a:[6] z:[5  7 bytes]\n");
	assert_contains(text, "     1: 0x10 [F] \n");
	free(text);
	f->p->time_ns = 1500 * MS;
	text = raw_text(f->p);
	assert_contains(text, "Time: 1970-01-01 00:00:01.5 +0000 UTC\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_raw),
		TEST(test_raw_durations),
		TEST(test_raw_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
