/* SPDX-License-Identifier: MIT */
/* Lines of the three formats: tables that Python made, with what its co_lines() says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/runtime/row.h"
#include "daemon/worker/runtime/python_lines.h"

struct expected {
	uint32_t end, line; /* line up to this offset; 0: none */
};

static void check(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		  const struct expected *expected, size_t n)
{
	uint32_t offset = 0;

	for (size_t i = 0; i < n; i++)
		for (; offset < expected[i].end; offset += 2)
			assert_int_equal(python_line(version, table, length, first, offset),
					 expected[i].line);
}

/* def f(): loops, a comprehension, an exception handler, and 70 empty lines before a loop. */
static const uint8_t table_3_11[] = {
	128, 0,   240, 4,   1,   9,   12,  240, 0,   1,   9,   12,  216, 9,   10,  240, 3,
	1,   9,   12,  241, 0,   1,   9,   12,  244, 0,   1,   9,   12,  128, 65,  240, 6,
	5,   5,   13,  216, 17,  18,  240, 0,   2,   9,   25,  240, 0,   2,   9,   25,  136,
	65,  216, 17,  18,  221, 17,  20,  144, 81,  145, 22,  148, 22,  241, 3,   1,   18,
	24,  136, 65,  136, 65,  240, 3,   2,   9,   25,  248, 245, 6,   0,   12,  22,  240,
	0,   1,   5,   13,  240, 0,   1,   5,   13,  240, 0,   1,   5,   13,  216, 8,   12,
	136, 4,   240, 3,   1,   5,   13,  248, 248, 248, 240, 72,  2,   0,   11,  12,  240,
	0,   1,   5,   15,  216, 8,   9,   136, 81,  137, 6,   136, 1,   240, 3,   0,   11,
	12,  240, 0,   1,   5,   15,  240, 6,   0,   9,   10,  240, 3,   1,   5,   11,
};

static const struct expected lines_3_11[] = {
	{2, 2},   {6, 4},    {8, 5},    {26, 4},   {28, 7},   {36, 8},   {38, 9},
	{66, 10}, {74, 9},   {76, 8},   {78, 0},   {96, 11},  {100, 12}, {102, 11},
	{108, 0}, {112, 79}, {122, 80}, {126, 79}, {128, 82}, {130, 81}, {200, 0},
};

static void test_3_11(void **state)
{
	(void)state;
	check(0x030b, table_3_11, sizeof(table_3_11), 2, lines_3_11, ARRAY_SIZE(lines_3_11));
	/* What is cut off is not known; what is before is. */
	assert_int_equal(python_line(0x030c, table_3_11, 12, 2, 4), 4);
	assert_int_equal(python_line(0x030c, table_3_11, 12, 2, 100), 0);
	assert_int_equal(python_line(0x030c, table_3_11, 12, 2, RUNTIME_AT_UNKNOWN), 2);
}

/* Backwards, 300 lines at once, and instructions without a line. */
static void test_3_10(void **state)
{
	static const uint8_t table[] = {4, 1, 6, (uint8_t)-3, 0, 127, 0, 127, 2, 46, 2, 0x80, 4, 1};
	static const struct expected lines[] = {{4, 11}, {10, 8},   {12, 308},
						{14, 0}, {18, 309}, {30, 0}};

	(void)state;
	check(0x030a, table, sizeof(table), 10, lines, ARRAY_SIZE(lines));
}

/* The last range has no end. */
static void test_3_9(void **state)
{
	static const uint8_t table[] = {0, 1, 6, 2, 255, 0, 1, (uint8_t)-4};
	static const struct expected lines[] = {{6, 11}, {262, 13}, {300, 9}};

	(void)state;
	check(0x0309, table, sizeof(table), 10, lines, ARRAY_SIZE(lines));
	check(0x0308, table, 0, 10, (struct expected[]){{100, 10}}, 1);
	assert_int_equal(python_line(0x0308, table, sizeof(table), 10, RUNTIME_AT_UNKNOWN), 10);
}

/* In a table that was cut off, what is behind the last range is not known. */
static void test_3_9_cut(void **state)
{
	static uint8_t table[RUNTIME_TABLE_MAX];
	const uint32_t n = sizeof(table) / 2;

	(void)state;
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = i % 2 ? 1 : 2;
	assert_int_equal(python_line(0x0309, table, sizeof(table), 10, 2 * n - 1), 10 + n - 1);
	assert_int_equal(python_line(0x0309, table, sizeof(table), 10, 2 * n), 0);
	assert_int_equal(python_line(0x0309, table, sizeof(table) - 2, 10, 2 * n), 10 + n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3_11),
		cmocka_unit_test(test_3_10),
		cmocka_unit_test(test_3_9),
		cmocka_unit_test(test_3_9_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
