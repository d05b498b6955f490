/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/resolve/maps.h"

static const char text[] =
	"56186fb1c000-56186fb1e000 r--p 00000000 fe:00 247134                     /usr/bin/cat\n"
	"56186fb1e000-56186fb23000 r-xp 00002000 fe:00 247134                     /usr/bin/cat\n"
	"561879789000-5618797aa000 rw-p 00000000 00:00 0                          [heap]\n"
	"7fab0a2f8000-7fab0a31a000 rwxp 00000000 00:00 0 \n"
	"7fab0a400000-7fab0a500000 r-xs 1fffff000 103:1f 18446744073709551615 /a b/c (deleted)\n"
	"7fab0a570000-7fab0a572000 r-xp 00000000 00:00 0                          [vdso]\n"
	"7fab0a600000-7fab0a601000 --xp 00000000 00:01 9                          /x\\012y\\z\n"
	"7fab0a700000-7fab0a701000 r-xp 00000000 00:01 9                          /memfd:jit "
	"(deleted)\n"
	"7fab0a800000-7fab0a801000 r-xp 00000000 00:00 0                          [anon:v8 code]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";

static const struct maps_line expected[] = {
	{.start = 0x56186fb1e000,
	 .end = 0x56186fb23000,
	 .offset = 0x2000,
	 .inode = 247134,
	 .device_major = 0xfe,
	 .prot = PROT_READ | PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .path = "/usr/bin/cat"},
	{.start = 0x7fab0a2f8000,
	 .end = 0x7fab0a31a000,
	 .prot = PROT_READ | PROT_WRITE | PROT_EXEC,
	 .flags = MAP_PRIVATE},
	{.start = 0x7fab0a400000,
	 .end = 0x7fab0a500000,
	 .offset = 0x1fffff000,
	 .inode = UINT64_MAX,
	 .device_major = 0x103,
	 .device_minor = 0x1f,
	 .prot = PROT_READ | PROT_EXEC,
	 .flags = MAP_SHARED,
	 .deleted = true,
	 .path = "/a b/c"},
	{.start = 0x7fab0a570000,
	 .end = 0x7fab0a572000,
	 .prot = PROT_READ | PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .path = "[vdso]"},
	{.start = 0x7fab0a600000,
	 .end = 0x7fab0a601000,
	 .inode = 9,
	 .device_minor = 1,
	 .prot = PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .path = "/x\ny\\z"},
	{.start = 0x7fab0a700000,
	 .end = 0x7fab0a701000,
	 .inode = 9,
	 .device_minor = 1,
	 .prot = PROT_READ | PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .deleted = true,
	 .path = "/memfd:jit"},
	{.start = 0x7fab0a800000,
	 .end = 0x7fab0a801000,
	 .prot = PROT_READ | PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .path = "[anon:v8 code]"},
	{.start = 0xffffffffff600000,
	 .end = 0xffffffffff601000,
	 .prot = PROT_EXEC,
	 .flags = MAP_PRIVATE,
	 .path = "[vsyscall]"},
};

static void test_lines(void **state)
{
	struct maps_reader reader;
	struct maps_line line;

	(void)state;
	maps_reader_init(&reader, text, sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct maps_line *e = &expected[i];

		assert_true(maps_reader_next(&reader, &line));
		assert_int_equal(line.start, e->start);
		assert_int_equal(line.end, e->end);
		assert_int_equal(line.offset, e->offset);
		assert_int_equal(line.inode, e->inode);
		assert_int_equal(line.device_major, e->device_major);
		assert_int_equal(line.device_minor, e->device_minor);
		assert_int_equal(line.prot, e->prot);
		assert_int_equal(line.flags, e->flags);
		assert_int_equal(line.deleted, e->deleted);
		assert_string_equal(line.path, e->path);
	}
	assert_false(maps_reader_next(&reader, &line));
	assert_false(maps_reader_next(&reader, &line));
	assert_int_equal(reader.n_malformed, 0);
}

static void test_malformed(void **state)
{
	static const char lines[] = "\n"
				    "1000-2000\n"
				    "1000-2000 r-xp\n"
				    "2000-1000 r-xp 0 0:0 0 /backwards\n"
				    "1000-1000 r-xp 0 0:0 0 /empty\n"
				    "1000-2000 r-xq 0 0:0 0 /sharing\n"
				    "1000-2000 r-yp 0 0:0 0 /letter\n"
				    "11111111111111111-2000 r-xp 0 0:0 0 /seventeen digits\n"
				    "1000-2000 r-xp 0 0:0 18446744073709551616 /inode\n"
				    "1000-2000 r-xp 0 100000000:0 0 /device\n"
				    "1000-2000 r-xp 0 0:0 0x /number\n"
				    "1000-2000 r-xp 0 0:0 0\n"
				    "garbage";
	struct maps_reader reader;
	struct maps_line line;

	(void)state;
	maps_reader_init(&reader, lines, sizeof(lines) - 1);
	assert_true(maps_reader_next(&reader, &line));
	assert_string_equal(line.path, "");
	assert_int_equal(reader.n_malformed, 11);
	assert_false(maps_reader_next(&reader, &line));
	assert_int_equal(reader.n_malformed, 12);
	maps_reader_init(&reader, NULL, 0);
	assert_false(maps_reader_next(&reader, &line));
}

static void test_long_path(void **state)
{
	static const char head[] = "1000-2000 r-xp 0 0:0 0 ";
	static char line_text[sizeof(head) + MAPS_PATH_SIZE + 16];
	const size_t n_head = sizeof(head) - 1;
	struct maps_reader reader;
	struct maps_line line;

	(void)state;
	memset(line_text, 'p', sizeof(line_text));
	memcpy(line_text, head, n_head);
	maps_reader_init(&reader, line_text, n_head + MAPS_PATH_SIZE - 1);
	assert_true(maps_reader_next(&reader, &line));
	assert_int_equal(strlen(line.path), MAPS_PATH_SIZE - 1);
	maps_reader_init(&reader, line_text, n_head + MAPS_PATH_SIZE);
	assert_true(maps_reader_next(&reader, &line));
	assert_string_equal(line.path, "//toolong");
}

static void test_stat(void **state)
{
	static const char good[] = "4242 (a) R (b) c) S 17 4242 4242 0 -1 2097216 0 0 0 0 1 2 3 4 "
				   "20 0 1 0 987654321 0 0 18446744073709551615\n";
	struct maps_stat stat;

	(void)state;
	assert_int_equal(maps_parse_stat(good, sizeof(good) - 1, &stat), MAPS_E_OK);
	assert_int_equal(stat.pid, 4242);
	assert_int_equal(stat.ppid, 17);
	assert_int_equal(stat.state, 'S');
	assert_string_equal(stat.comm, "a) R (b) c");
	assert_int_equal(stat.flags, 2097216);
	assert_true(stat.flags & MAPS_STAT_KERNEL_THREAD);
	assert_int_equal(stat.start_ticks, 987654321);
	/* Anything cut before the end of field 22 is refused or, cut within it, shorter. */
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		char *copy = malloc(n ? n : 1);
		int r;

		assert_non_null(copy);
		memcpy(copy, good, n);
		r = maps_parse_stat(copy, n, &stat);
		assert_int_equal(r, strstr(good, "987654321") + 1 > good + n ? MAPS_E_MALFORMED
									     : MAPS_E_OK);
		free(copy);
	}
	assert_int_equal(maps_parse_stat("1 2 3", 5, &stat), MAPS_E_MALFORMED);
	assert_int_equal(maps_parse_stat("1 (x", 4, &stat), MAPS_E_MALFORMED);
	assert_int_equal(maps_parse_stat("1 (x)", 5, &stat), MAPS_E_MALFORMED);
}

static size_t read_text(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t r;

	assert_true(fd >= 0);
	while ((r = read(fd, buffer + n, size - n)) > 0)
		n += (size_t)r;
	close(fd);
	return n;
}

/* This process itself, with a name made to confuse. */
static void test_self(void **state)
{
	static char buffer[1 << 20];
	char exe[4096] = "";
	struct maps_reader reader;
	struct maps_line line;
	struct maps_stat stat;
	bool found = false;
	size_t n;

	(void)state;
	prctl(PR_SET_NAME, ") R 1 (");
	n = read_text("/proc/self/stat", buffer, sizeof(buffer));
	assert_int_equal(maps_parse_stat(buffer, n, &stat), MAPS_E_OK);
	assert_int_equal(stat.pid, getpid());
	assert_int_equal(stat.ppid, getppid());
	assert_string_equal(stat.comm, ") R 1 (");
	assert_false(stat.flags & MAPS_STAT_KERNEL_THREAD);
	assert_true(stat.start_ticks > 0);

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	n = read_text("/proc/self/maps", buffer, sizeof(buffer));
	maps_reader_init(&reader, buffer, n);
	while (maps_reader_next(&reader, &line)) {
		uintptr_t self = (uintptr_t)test_self;

		if (line.start <= self && self < line.end)
			found = strcmp(line.path, exe) == 0;
	}
	assert_true(found);
	assert_int_equal(reader.n_malformed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),     cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_long_path), cmocka_unit_test(test_stat),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
