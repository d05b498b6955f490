/* SPDX-License-Identifier: MIT */
/* How far reading is, in words and as a share that only grows. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/report/listener.h"
#include "tests/support/temp_dir.h"

#define KIB 1024u

struct told {
	double done;
	char text[200];
	unsigned n, n_ends;
};

static void tell(void *context, double done, const char *text)
{
	struct told *t = context;

	assert_true(done >= t->done && done <= 1);
	t->done = done;
	t->n++;
	t->n_ends += !text;
	if (text)
		snprintf(t->text, sizeof(t->text), "%s", text);
}

static void expect(const struct told *t, double done, const char *text)
{
	assert_true(t->done > done - 1e-9 && t->done < done + 1e-9);
	assert_string_equal(t->text, text);
}

static void test_files(void **state)
{
	static const char zeros[3 * KIB];
	struct temp_dir dir;
	struct told told = {0};
	const struct listener listener = {.progress = tell, .context = &told};
	struct reading r;
	int fd;

	(void)state;
	temp_dir_make(&dir);
	write_file(dir.fd, "a", zeros, KIB);
	write_file(dir.fd, "b", zeros, 3 * KIB);
	reading_begin(&r, 2, &listener);
	fd = openat(dir.fd, "a", O_RDONLY | O_CLOEXEC);
	reading_file(&r, fd);
	close(fd);
	expect(&told, 0, "read 0 of 2 files");
	reading_report_offset(&r, KIB);
	expect(&told, .25, "read 0 of 2 files");
	reading_samples(&r);
	reading_report_offset(&r, KIB);
	expect(&told, .5, "read 0 of 2 files");
	reading_file_end(&r);
	/* One whose samples are there at once, and that has grown. */
	fd = openat(dir.fd, "b", O_RDONLY | O_CLOEXEC);
	reading_file(&r, fd);
	close(fd);
	expect(&told, .5, "read 1 of 2 files");
	reading_samples(&r);
	reading_report_offset(&r, 100 * KIB);
	expect(&told, 1, "read 1 of 2 files");
	reading_file_end(&r);
	assert_int_equal(told.n_ends, 0);
	reading_end(&r);
	assert_int_equal(told.n_ends, 1);
	/* The same bytes once more are nothing new. */
	reading_report_offset(&r, 0);
	reading_end(&r);
	assert_int_equal(told.n_ends, 1);
	assert_int_equal(told.n, 6);
	temp_dir_remove(&dir);
}

static void test_file(void **state)
{
	static const char zeros[4 * KIB];
	struct temp_dir dir;
	struct told told = {0};
	const struct listener listener = {.progress = tell, .context = &told};
	struct reading r;
	int fd;

	(void)state;
	temp_dir_make(&dir);
	write_file(dir.fd, "a", zeros, sizeof(zeros));
	reading_begin(&r, 1, &listener);
	fd = openat(dir.fd, "a", O_RDONLY | O_CLOEXEC);
	reading_file(&r, fd);
	close(fd);
	expect(&told, 0, "read 0 B of 4.0 KiB");
	reading_report_offset(&r, KIB);
	expect(&told, .125, "read 512 B of 4.0 KiB");
	reading_samples(&r);
	reading_report_offset(&r, KIB);
	expect(&told, .625, "read 2.5 KiB of 4.0 KiB");
	reading_end(&r);
	temp_dir_remove(&dir);
}

/* What has no size, or is not there, is as good as nothing. */
static void test_no_size(void **state)
{
	struct told told = {0};
	const struct listener listener = {.progress = tell, .context = &told};
	struct reading r;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	reading_begin(&r, 1, &listener);
	reading_file(&r, fd);
	reading_report_offset(&r, 5 * KIB);
	expect(&told, 0, "read 0 B of 0 B");
	reading_file_end(&r);
	reading_end(&r);
	reading_begin(&r, 1, &(struct listener){0});
	reading_file(&r, fd);
	reading_report_offset(&r, 1);
	reading_end(&r);
	close(fd);
	assert_int_equal(told.n_ends, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
