/* SPDX-License-Identifier: MIT */
/* Lines of JavaScript's bytecodes, by tables as V8 writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/runtime/row.h"
#include "daemon/worker/runtime/v8_lines.h"

#define VERSION (RUNTIME_V8_VERSION | 0x0b03)
#define START   1000
#define FIRST   20

/* Lines end at characters 10, 13 and 100. */
static const uint8_t map[16] = {[1] = 1 << 2 | 1 << 5, [12] = 1 << 4};
static const struct {
	int32_t offset, character;
	bool is_statement;
} entries[] = {{0, 2, true}, {3, 11, true}, {9, 10, false}, {9, 101, true}, {200, 14, false}};

static uint8_t table[256];
static size_t length, n_positions;

static void append_number(int64_t value)
{
	uint64_t rest = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

	for (; rest > 127; rest >>= 7)
		table[length++] = (uint8_t)(rest | 128);
	table[length++] = (uint8_t)rest;
}

static void append_entry(int64_t offset, int64_t position, bool is_statement)
{
	append_number(is_statement ? offset : -offset - 1);
	append_number(position);
}

static void append_head(uint16_t n, uint8_t width, uint8_t is_cut)
{
	const struct runtime_v8_lines head = {
		.start = START, .n_positions = n, .width = width, .is_cut = is_cut};

	memcpy(table, &head, sizeof(head));
}

static int setup(void **state)
{
	int64_t offset = -1, position = 0;

	(void)state;
	length = sizeof(struct runtime_v8_lines);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		int64_t packed = (START + entries[i].character + 1) * 2;

		append_entry(entries[i].offset - offset, packed - position,
			     entries[i].is_statement);
		offset = entries[i].offset;
		position = packed;
	}
	n_positions = length - sizeof(struct runtime_v8_lines);
	append_head((uint16_t)n_positions, 1, 0);
	memcpy(table + length, map, sizeof(map));
	length += sizeof(map);
	return 0;
}

static uint32_t line(uint32_t offset)
{
	return v8_line(VERSION, table, length, FIRST, offset);
}

static void test_lines(void **state)
{
	static const uint32_t lines[][2] = {{0, 20}, {2, 20},   {3, 21},   {8, 21},
					    {9, 23}, {199, 23}, {200, 22}, {70000, 22}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(line(lines[i][0]), lines[i][1]);
	assert_int_equal(line(RUNTIME_AT_UNKNOWN), FIRST);
	assert_int_equal(v8_line(VERSION, NULL, 0, FIRST, 3), FIRST);
	assert_int_equal(v8_line(VERSION, table, length, INT32_MAX, 2), INT32_MAX);
	assert_int_equal(v8_line(VERSION, table, length, INT32_MAX, 3), 0);
}

/* Four characters are in a byte of the map: those at 5, 6 and 48. */
static void test_wide(void **state)
{
	(void)state;
	append_head((uint16_t)n_positions, 2, 0);
	memset(table + length - sizeof(map), 0, sizeof(map));
	table[length - sizeof(map) + 1] = 1 << 1 | 1 << 2;
	table[length - sizeof(map) + 12] = 1;
	assert_int_equal(line(0), 20);
	assert_int_equal(line(3), 22);
	assert_int_equal(line(9), FIRST); /* beyond the map */
	append_head((uint16_t)n_positions, 3, 0);
	assert_int_equal(line(3), FIRST);
}

/* What is cut off is not known; what is before is. */
static void test_cut(void **state)
{
	(void)state;
	append_head((uint16_t)n_positions, 1, 1);
	assert_int_equal(line(9), 23);
	assert_int_equal(line(199), 23);
	assert_int_equal(line(200), FIRST);
	append_head((uint16_t)(length - sizeof(struct runtime_v8_lines) + 1), 1, 0);
	assert_int_equal(line(3), FIRST);
	append_head((uint16_t)n_positions, 1, 0);
	for (size_t n = 0; n <= length - sizeof(map); n++)
		assert_int_equal(v8_line(VERSION, table, n, FIRST, 9), FIRST);
}

/* No position, one before the function, one of something else. */
static void test_strange(void **state)
{
	static const int64_t packed[] = {0, 2 * START, 2 * (START + 12) + 1, INT64_MIN, INT64_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packed); i++) {
		length = sizeof(struct runtime_v8_lines);
		append_entry(1, packed[i], true);
		append_head((uint16_t)(length - sizeof(struct runtime_v8_lines)), 1, 0);
		memcpy(table + length, map, sizeof(map));
		length += sizeof(map);
		assert_int_equal(line(0), FIRST);
	}
	length = sizeof(struct runtime_v8_lines);
	append_entry(INT64_MAX, 2 * (START + 12), true);
	append_entry(1, 0, true);
	append_head((uint16_t)(length - sizeof(struct runtime_v8_lines)), 1, 0);
	memcpy(table + length, map, sizeof(map));
	length += sizeof(map);
	assert_int_equal(line(5), FIRST);
	memset(table + sizeof(struct runtime_v8_lines), 0xff,
	       sizeof(table) - sizeof(struct runtime_v8_lines));
	assert_int_equal(line(5), FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lines, setup),
		cmocka_unit_test_setup(test_wide, setup),
		cmocka_unit_test_setup(test_cut, setup),
		cmocka_unit_test_setup(test_strange, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
