/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/ingest/idle.h"

#define UNIT UINT64_C(10000000)

/* From memory of exactly that size, so that a sanitizer sees each byte too far. */
static bool parse(const char *text, unsigned *ret_cpu, uint64_t *ret_ns)
{
	char *exact = strdup(text);
	bool r;

	assert_non_null(exact);
	r = idle_parse_line(exact, UNIT, ret_cpu, ret_ns);
	free(exact);
	return r;
}

static void test_lines(void **state)
{
	static const struct {
		const char *text;
		unsigned cpu;
		uint64_t units;
	} lines[] = {
		{"cpu0 7716 0 2043 151265 601 0 34 4 0 0\n", 0, 151866},
		{"cpu17 1 2 3 4 5", 17, 9},
		{"cpu8191 0 0 0 0 0 0 0 0 0 0\n", 8191, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		unsigned cpu = 1234567;
		uint64_t ns = 1;

		assert_true(parse(lines[i].text, &cpu, &ns));
		assert_int_equal(cpu, lines[i].cpu);
		assert_int_equal(ns, lines[i].units * UNIT);
	}
}

static void test_others(void **state)
{
	static const char *const lines[] = {
		"",
		"cp",
		"cpu",
		"cpu  15423 0 3906 302956 930 0 101 9 0 0\n", /* the sum of all */
		"cpu0",
		"cpu0 1 2 3 4\n",
		"cpu0 1 2 3  4 5\n",
		"cpu0 1 2 3 x 5\n",
		"cpu0 1 2 3 -4 5\n",
		"cpu8192 1 2 3 4 5\n",
		"cpu99999999999999999999 1 2 3 4 5\n",
		"cpu0 1 2 3 18446744073709551615 5\n",
		"cpu0 1 2 3 4 999999999999999999999999\n",
		"intr 403978 0 0 0 0 0\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		unsigned cpu = 5;
		uint64_t ns = 7;

		assert_false(parse(lines[i], &cpu, &ns));
		assert_int_equal(cpu, 5);
		assert_int_equal(ns, 7);
	}
}

struct seen {
	unsigned n;
	uint64_t ns[16];
};

static void on_cpu(void *userdata, unsigned cpu, uint64_t idle_ns)
{
	struct seen *seen = userdata;

	seen->n++;
	if (cpu < 16)
		seen->ns[cpu] = idle_ns;
}

/* This machine has a CPU, and none that ran for longer than a century. */
static void test_this_machine(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_true(idle_unit_ns() >= 1000000 && idle_unit_ns() <= UNIT);
	idle_read(on_cpu, &seen);
	assert_true(seen.n > 0);
	for (unsigned i = 0; i < 16; i++)
		assert_true(seen.ns[i] < UINT64_C(100) * 366 * 86400 * 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
