/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/maps.h"
#include "common/read_end.h"

static bool parse(const char *text, struct maps_line *ret)
{
	return maps_parse(text, text + strlen(text), ret);
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *path;
		struct maps_line line;
	} cases[] = {
		{"56186fb1e000-56186fb23000 r-xp 00002000 fe:00 247134        /usr/bin/cat\n",
		 "/usr/bin/cat",
		 {.start = 0x56186fb1e000,
		  .end = 0x56186fb23000,
		  .offset = 0x2000,
		  .device = UINT64_C(0xfe) << 32,
		  .inode = 247134,
		  .prot = PROT_READ | PROT_EXEC,
		  .flags = MAP_PRIVATE}},
		{"561879789000-5618797aa000 rw-p 00000000 00:00 0             [heap]\nnext",
		 "[heap]",
		 {.start = 0x561879789000,
		  .end = 0x5618797aa000,
		  .prot = PROT_READ | PROT_WRITE,
		  .flags = MAP_PRIVATE}},
		{"7fab0a2f8000-7fab0a31a000 rwxp 00000000 00:00 0 \n",
		 "",
		 {.start = 0x7fab0a2f8000,
		  .end = 0x7fab0a31a000,
		  .prot = PROT_READ | PROT_WRITE | PROT_EXEC,
		  .flags = MAP_PRIVATE}},
		{"7fab0a400000-7fab0a500000 --xs 1fffff000 103:1f 18446744073709551615 /a b/c "
		 "(deleted)",
		 "/a b/c (deleted)",
		 {.start = 0x7fab0a400000,
		  .end = 0x7fab0a500000,
		  .offset = 0x1fffff000,
		  .device = UINT64_C(0x103) << 32 | 0x1f,
		  .inode = UINT64_MAX,
		  .prot = PROT_EXEC,
		  .flags = MAP_SHARED}},
		{"1000-2000 r-xp 0 0:0 0",
		 "",
		 {.start = 0x1000,
		  .end = 0x2000,
		  .prot = PROT_READ | PROT_EXEC,
		  .flags = MAP_PRIVATE}},
	};
	struct maps_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct maps_line *e = &cases[i].line;

		assert_true(parse(cases[i].text, &line));
		assert_int_equal(line.start, e->start);
		assert_int_equal(line.end, e->end);
		assert_int_equal(line.offset, e->offset);
		assert_int_equal(line.device, e->device);
		assert_int_equal(line.inode, e->inode);
		assert_int_equal(line.prot, e->prot);
		assert_int_equal(line.flags, e->flags);
		assert_int_equal(line.path_length, strlen(cases[i].path));
		assert_memory_equal(line.path, cases[i].path, line.path_length);
		assert_int_equal(line.length, strcspn(cases[i].text, "\n"));
	}
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"garbage",
		"1-",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 ",
		"1000-2000 r-xp 0 0.0 0 ",
		"-2000 r-xp 0 0:0 0 ",
		"2000-1000 r-xp 0 0:0 0 /backwards",
		"1000-1000 r-xp 0 0:0 0 /empty",
		"1000-2000 r-xq 0 0:0 0 /sharing",
		"1000-2000 r-yp 0 0:0 0 /letter",
		"11111111111111111-2000 r-xp 0 0:0 0 /seventeen digits",
		"1000-2000 r-xp 0 0:0 18446744073709551616 /inode",
		"1000-2000 r-xp 0 0:0 a ",
		"1000-2000 r-xp 0 100000000:0 0 /device",
		"1000-2000 r-xp 0 0:0 0x /number",
	};
	struct maps_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(parse(bad[i], &line));
		assert_int_equal(line.length, strcspn(bad[i], "\n"));
	}
}

/* This process itself. */
static void test_self(void **state)
{
	struct maps_line line;
	bool found = false;
	size_t length;
	char *text;

	(void)state;
	assert_int_equal(read_end_text(AT_FDCWD, "/proc/self/maps", 1 << 20, &text, &length), 0);
	for (const char *at = text; at < text + length; at += line.length + 1) {
		assert_true(maps_parse(at, text + length, &line));
		if (line.start <= (uintptr_t)test_self && (uintptr_t)test_self < line.end)
			found = line.prot & PROT_EXEC;
	}
	assert_true(found);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
