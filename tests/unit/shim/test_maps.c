/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/read_end.h"
#include "common/shim/maps_lines.h"

static bool parse(const char *text, struct maps_line *ret)
{
	return maps_parse(text, text + strlen(text), ret);
}

static void test_lines(void **state)
{
	struct maps_line line;

	(void)state;
	assert_true(parse("7f00-8f00 r-xp 00001000 fe:01 77          /a b\nnext", &line));
	assert_int_equal(line.start, 0x7f00);
	assert_int_equal(line.end, 0x8f00);
	assert_int_equal(line.offset, 0x1000);
	assert_int_equal(line.device, UINT64_C(0xfe) << 32 | 1);
	assert_int_equal(line.inode, 77);
	assert_true(line.is_executable);
	assert_int_equal(line.path_length, 4);
	assert_memory_equal(line.path, "/a b", 4);
	assert_int_equal(line.length, 46);
	assert_true(parse("0-1 rw-p 0 0:0 0 ", &line));
	assert_false(line.is_executable);
	assert_int_equal(line.path_length, 0);
}

static void test_what_is_no_line(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"x",
		"1-",
		"1-2",
		"1-2 r-xp",
		"1-2 r-xp 0",
		"1-2 r-xp 0 0:0",
		"2-1 r-xp 0 0:0 0 ",
		"1-2 r-xp 0 0.0 0 ",
		"-2 r-xp 0 0:0 0 ",
		"1-2 r-xp 0 0:0 a ",
	};
	struct maps_line line;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parse(bad[i], &line));
}

static void test_own(void **state)
{
	struct maps_line line;
	bool found = false;
	size_t length;
	char *text;

	(void)state;
	assert_int_equal(read_end_text(AT_FDCWD, "/proc/self/maps", SIZE_MAX, &text, &length), 0);
	assert_int_equal(strlen(text), length);
	for (const char *at = text; at < text + length; at += line.length + 1) {
		assert_true(maps_parse(at, text + length, &line));
		if (line.start <= (uintptr_t)test_own && (uintptr_t)test_own < line.end)
			found = line.is_executable;
	}
	assert_true(found);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_what_is_no_line),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
