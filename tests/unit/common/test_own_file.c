/* SPDX-License-Identifier: MIT */
#include "common/own_file.h"

#include <errno.h>

#include "tests/support/temp_dir.h"

#define STRANGER 12345

static struct temp_dir dir;

/* How many bytes @name has after it was opened; -1: it was not opened. */
static int length_opened(const char *name, bool keep)
{
	int fd = own_file_open(temp_dir_at(&dir, name), 0600, keep);
	struct stat st;

	if (fd < 0) {
		assert_int_equal(errno, EPERM);
		return -1;
	}
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (int)st.st_size;
}

static void set_up(mode_t mode)
{
	temp_dir_make(&dir);
	write_text(dir.fd, "own", "12345");
	write_text(dir.fd, "victim", "12345");
	write_text(dir.fd, "linked", "12345");
	assert_int_equal(symlinkat("victim", dir.fd, "symlink"), 0);
	assert_int_equal(symlinkat("missing", dir.fd, "dangling"), 0);
	assert_int_equal(linkat(dir.fd, "linked", dir.fd, "hard", 0), 0);
	assert_int_equal(chmod(dir.path, mode), 0);
}

static void in_an_own_directory_links_are_followed(void **state)
{
	(void)state;
	set_up(0755);
	assert_int_equal(length_opened("own", true), 5);
	assert_int_equal(length_opened("own", false), 0);
	assert_int_equal(length_opened("symlink", false), 0);
	assert_int_equal(length_opened("hard", false), 0);
	assert_int_equal(length_opened("dangling", false), 0);
	temp_dir_remove(&dir);
}

static void in_a_shared_one_nothing_else_is_touched(void **state)
{
	static const mode_t modes[] = {01777, 0777, 0775};
	struct stat st;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		set_up(modes[i]);
		assert_int_equal(length_opened("symlink", false), -1);
		assert_int_equal(length_opened("dangling", false), -1);
		assert_int_equal(length_opened("hard", false), -1);
		assert_int_equal(length_opened("own", false), 0);
		assert_int_equal(length_opened("new", false), 0);
		assert_int_equal(fstatat(dir.fd, "victim", &st, 0), 0);
		assert_int_equal(st.st_size, 5);
		assert_int_equal(fstatat(dir.fd, "linked", &st, 0), 0);
		assert_int_equal(st.st_size, 5);
		assert_int_equal(fstatat(dir.fd, "missing", &st, 0), -1);
		temp_dir_remove(&dir);
	}
}

static void what_is_a_strangers_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can give a file to another user: chown(2) */
	set_up(01777);
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0666), 0);
	assert_int_equal(fchownat(dir.fd, "fifo", STRANGER, STRANGER, 0), 0);
	assert_int_equal(fchownat(dir.fd, "own", STRANGER, STRANGER, 0), 0);
	assert_int_equal(length_opened("fifo", false), -1); /* which would block */
	assert_int_equal(length_opened("own", false), -1);
	/* It may be anybody's directory by itself. */
	assert_int_equal(fchmod(dir.fd, 0755), 0);
	assert_int_equal(length_opened("own", false), 0);
	assert_int_equal(fchown(dir.fd, STRANGER, STRANGER), 0);
	assert_int_equal(length_opened("own", false), -1);
	assert_int_equal(length_opened("symlink", false), -1);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_an_own_directory_links_are_followed),
		cmocka_unit_test(in_a_shared_one_nothing_else_is_touched),
		cmocka_unit_test(what_is_a_strangers_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
