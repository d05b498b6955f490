/* SPDX-License-Identifier: MIT */
/* Any ranges: each address has the name that was given to it last; and files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/random.h"
#include "tests/unit/worker/jit/jit_fixture.h"

#define ADDRESSES 256
#define RANGES    60

static void check(struct jit_names *j, const uint64_t *addresses, size_t n, const unsigned *named)
{
	for (size_t i = 0; i < n; i++) {
		unsigned expected = named[addresses[i]];
		struct frame_name frame = {.system_name = "f0"};
		uint64_t start, size;
		bool found = jit_names_get(j, i, &frame, &start, &size);

		assert_int_equal(found, expected != 0);
		assert_int_equal(strtoul(frame.system_name + 1, NULL, 10), expected);
		assert_true(start <= addresses[i] && addresses[i] - start < size);
		/* The answer holds for its whole range, and for no more. */
		for (uint64_t other = start; other - start < size && other < ADDRESSES; other++)
			assert_int_equal(named[other], expected);
		if (start)
			assert_int_not_equal(named[start - 1], expected);
		if (size < ADDRESSES - start)
			assert_int_not_equal(named[start + size], expected);
	}
}

static void test_against_writing_down_each_address(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		cleanup(jit_names_freep) struct jit_names *j = NULL;
		unsigned named[ADDRESSES] = {0}, n = 1 + random_next(&seed) % RANGES, longest;
		unsigned every = 1 + round % 16;
		uint64_t addresses[ADDRESSES];
		struct jit_question question = {.addresses = addresses};
		cleanup(closep) int fd = -1;
		char text[RANGES * 80];
		size_t length = 0;

		longest = 1 + random_next(&seed) % ADDRESSES;
		for (unsigned i = 1; i <= n; i++) {
			unsigned start = random_next(&seed) % ADDRESSES,
				 size = 1 + random_next(&seed) % longest;

			if (start + size > ADDRESSES)
				size = ADDRESSES - start;
			for (unsigned a = start; a < start + size; a++)
				named[a] = i;
			length += (size_t)sprintf(text + length, "%x %x f%u %0*d\n", start, size, i,
						  1 + random_next(&seed) % 48, 0);
		}
		for (unsigned a = 0; a < ADDRESSES; a++)
			if (random_next(&seed) % every == 0)
				addresses[question.n++] = a;
		question.piece = JIT_INPUT_MIN + random_next(&seed) % 300;
		fd = jit_fixture_file(text, length);
		assert_int_equal(jit_names_new(&j, fd, &question), WORKER_DONE);
		check(j, addresses, question.n, named);
	}
}

static void test_files(void **state)
{
	static const char text[] = "1000 10 a\n2000 10 b\n";
	static const uint64_t addresses[] = {0x1000, 0x2001, 0x2001};
	const struct jit_question map = {false, addresses, 3, 0}, dump = {true, addresses, 3, 0};
	int fd = jit_fixture_file(text, sizeof(text) - 1), wrong = jit_fixture_file("", 0), ends[2];
	cleanup(jit_names_freep) struct jit_names *j = NULL;
	struct frame_name frame;
	uint64_t start, size;

	(void)state;
	assert_int_equal(jit_names_new(&j, fd, &dump), WORKER_NOT_ELF);
	assert_int_equal(jit_names_new(&j, fd, &map), WORKER_DONE);
	for (size_t i = 1; i < 3; i++) {
		assert_true(jit_names_get(j, i, &frame, &start, &size));
		assert_string_equal(frame.system_name, "b");
	}
	assert_int_equal(lseek(fd, 0, SEEK_CUR), sizeof(text) - 1);
	/* Its writer has begun anew. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_false(jit_names_get(j, 0, &frame, &start, &size));
	assert_int_equal(start, 0x1000);
	assert_int_equal(size, 0x10);
	close(fd);

	/* A hole of a terabyte, of which so much is read. */
	assert_int_equal(ftruncate(wrong, (off_t)1 << 40), 0);
	assert_int_equal(jit_names_new(&j, wrong, &dump), WORKER_NOT_ELF);
	close(wrong);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(jit_names_new(&j, ends[0], &map), WORKER_UNREADABLE);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(jit_names_new(&j, -1, &map), WORKER_UNREADABLE);
}

static long peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

/* 64 MiB of names take no more memory than a few; and the last of them are found. */
static void test_memory_is_not_by_the_file(void **state)
{
	cleanup(closep) int fd = jit_fixture_file("", 0);
	cleanup(jit_names_freep) struct jit_names *j = NULL;
	uint64_t address = 0, start, size;
	struct jit_question question = {.addresses = &address, .n = 1};
	struct frame_name frame;
	char text[1 << 16];
	long before;

	(void)state;
	for (unsigned i = 0; i < (64u << 20) / sizeof(text); i++) {
		size_t length = 0;

		while (length < sizeof(text) - 64) {
			address += 0x10;
			length += (size_t)sprintf(text + length, "%lx 10 f%lx\n",
						  (unsigned long)address, (unsigned long)address);
		}
		assert_int_equal(write(fd, text, length), length);
	}
	before = peak_kib();
	assert_int_equal(jit_names_new(&j, fd, &question), WORKER_DONE);
	assert_true(peak_kib() - before < 4096);
	assert_true(jit_names_get(j, 0, &frame, &start, &size));
	assert_int_equal(strtoul(frame.system_name + 1, NULL, 16), address);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* The first, while the peak is its own. */
		cmocka_unit_test(test_memory_is_not_by_the_file),
		cmocka_unit_test(test_against_writing_down_each_address),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
