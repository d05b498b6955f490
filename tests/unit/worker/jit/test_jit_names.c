/* SPDX-License-Identifier: MIT */
/* Any ranges: each address has the name that was given to it last; and files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/worker/jit/jit_names.h"
#include "tests/support/random.h"

#define ADDRESSES 256
#define RANGES    60

static void check(const struct jit_names *j, const unsigned *named)
{
	size_t n_spans = 0;

	for (unsigned a = 0; a < ADDRESSES; a++) {
		struct frame_name frame;
		uint64_t start, size;
		char name[16];
		bool found = jit_names_find(j, a, &frame, &start, &size);

		assert_int_equal(found, named[a] != 0);
		assert_true(start <= a && a - start < size);
		n_spans += found && start == a;
		if (found) {
			snprintf(name, sizeof(name), "f%u", named[a]);
			assert_string_equal(frame.system_name, name);
		}
		/* The answer holds for its whole range, and for no more. */
		for (uint64_t other = start; other < start + size && other < ADDRESSES; other++)
			assert_int_equal(named[other], named[a]);
		if (found && start)
			assert_int_not_equal(named[start - 1], named[a]);
		if (found && start + size < ADDRESSES)
			assert_int_not_equal(named[start + size], named[a]);
	}
	assert_int_equal(n_spans, jit_names_count(j));
}

static void test_against_writing_down_each_address(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		cleanup(jit_names_freep) struct jit_names *j = NULL;
		unsigned named[ADDRESSES] = {0}, n = 1 + random_next(&seed) % RANGES, longest;
		char text[RANGES * 32];
		size_t length = 0;

		longest = 1 + random_next(&seed) % ADDRESSES;
		for (unsigned i = 1; i <= n; i++) {
			unsigned start = random_next(&seed) % ADDRESSES,
				 size = 1 + random_next(&seed) % longest;

			if (start + size > ADDRESSES)
				size = ADDRESSES - start;
			for (unsigned a = start; a < start + size; a++)
				named[a] = i;
			length += (size_t)sprintf(text + length, "%x %x f%u\n", start, size, i);
		}
		assert_int_equal(jit_names_from_perf_map(&j, text, length), WORKER_DONE);
		check(j, named);
	}
}

static void test_files(void **state)
{
	static const char text[] = "1000 10 a\n2000 10 b\n";
	int fd = memfd_create("x", MFD_CLOEXEC), wrong = memfd_create("x", MFD_CLOEXEC);
	cleanup(jit_names_freep) struct jit_names *j = NULL;
	struct frame_name frame;
	uint64_t start, size;
	int ends[2];

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(jit_names_read(&j, fd, false), WORKER_DONE);
	assert_true(jit_names_find(j, 0x2001, &frame, &start, &size));
	assert_string_equal(frame.system_name, "b");
	assert_true(jit_names_bytes(j) > sizeof(text));
	assert_int_equal(jit_names_read(&j, fd, true), WORKER_NOT_ELF);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), sizeof(text) - 1);
	close(fd);

	/* A hole of a terabyte, of which so much is read. */
	assert_int_equal(ftruncate(wrong, (off_t)1 << 40), 0);
	assert_int_equal(jit_names_read(&j, wrong, true), WORKER_NOT_ELF);
	close(wrong);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(jit_names_read(&j, ends[0], false), WORKER_UNREADABLE);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(jit_names_read(&j, -1, false), WORKER_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_writing_down_each_address),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
