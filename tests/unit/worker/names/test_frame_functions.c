/* SPDX-License-Identifier: MIT */
/* This program's functions, by its own .eh_frame; and what has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/worker/names/frame_functions.h"
#include "tests/support/own_text.h"

static void assert_none(const struct frame_functions *f, uint64_t address, uint64_t start,
			uint64_t end)
{
	uint64_t from, to;

	assert_false(frame_functions_find(f, address, &from, &to));
	assert_true(from == start && to == end);
}

static void test_own_functions(void **state)
{
	uint64_t at = (uintptr_t)the_target - own_text_find().bias, start, end, last, behind;
	cleanup(frame_functions_freep) struct frame_functions *f = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(frame_functions_new(&f, fd), 0);
	close(fd);
	assert_true(frame_functions_bytes(f) > 100);
	assert_true(frame_functions_find(f, at, &start, &end));
	assert_int_equal(start, at);
	assert_true(end > at);
	assert_true(frame_functions_find(f, end - 1, &start, &last));
	assert_true(start == at && last == end);
	/* Before the first one and behind the last. */
	assert_false(frame_functions_find(f, 0, &start, &end));
	assert_int_equal(start, 0);
	assert_true(frame_functions_find(f, end, &start, &last));
	assert_int_equal(start, end);
	assert_none(f, end - 1, 0, end);
	assert_false(frame_functions_find(f, UINT64_MAX, &behind, &end));
	assert_int_equal(end, UINT64_MAX);
	assert_true(frame_functions_find(f, behind - 1, &start, &last));
	assert_int_equal(last, behind);
}

static void test_no_functions(void **state)
{
	cleanup(frame_functions_freep) struct frame_functions *f = NULL;
	int fd = memfd_create("text", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, "no ELF", 6), 6);
	assert_int_equal(frame_functions_new(&f, fd), 0);
	close(fd);
	assert_none(f, 0, 0, UINT64_MAX);
	assert_none(f, UINT64_MAX, 0, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_functions),
		cmocka_unit_test(test_no_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
