/* SPDX-License-Identifier: MIT */
/* Reading to the end: files and pipes of any size, up to a limit and not beyond. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/read_end.h"
#include "tests/support/temp_dir.h"

static uint8_t *make_bytes(size_t length)
{
	uint8_t *bytes = malloc(length + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	return bytes;
}

/* Around each size at which memory is made. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 131070, 131071, 131072, 300000};
	struct temp_dir dir;

	(void)state;
	temp_dir_make(&dir);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		cleanup(freep) uint8_t *bytes = make_bytes(sizes[i]);
		cleanup(freep) char *text = NULL;
		size_t length;

		write_file(dir.fd, "f", bytes, sizes[i]);
		assert_int_equal(read_end_text(dir.fd, "f", sizes[i], &text, &length), 0);
		assert_int_equal(length, sizes[i]);
		assert_memory_equal(text, bytes, length);
		assert_int_equal(text[length], '\0');
		if (!sizes[i])
			continue;
		freep(&text);
		text = NULL;
		assert_int_equal(read_end_text(dir.fd, "f", sizes[i] - 1, &text, &length), EFBIG);
		assert_null(text);
		/* The beginning of it is to be had. */
		assert_int_equal(read_start_text(dir.fd, "f", sizes[i] - 1, &text, &length), 0);
		assert_int_equal(length, sizes[i] - 1);
		assert_memory_equal(text, bytes, length);
		assert_int_equal(text[length], '\0');
	}
	temp_dir_remove(&dir);
}

static void test_pipe(void **state)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(write(fds[1], "def", 3), 3);
	close(fds[1]);
	assert_int_equal(read_end(fds[0], 100, &data, &length), 0);
	assert_int_equal(length, 6);
	assert_string_equal((char *)data, "abcdef");
	close(fds[0]);
}

static void test_what_is_no_file(void **state)
{
	struct temp_dir dir;
	char *text = NULL;
	size_t length;

	(void)state;
	temp_dir_make(&dir);
	assert_int_equal(read_end_text(dir.fd, "nothing", 100, &text, &length), ENOENT);
	assert_int_equal(read_end_text(dir.fd, ".", 100, &text, &length), EISDIR);
	/* Nobody writes: it is not waited for. */
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
	assert_int_equal(read_end_text(dir.fd, "fifo", 100, &text, &length), 0);
	assert_int_equal(length, 0);
	free(text);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
