/* SPDX-License-Identifier: MIT */
/* Directories of runs that live, that were killed, and what only looks like one. */
#include "client/run/run_dir.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

static int make(void **state)
{
	struct temp_dir *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	temp_dir_make(t);
	*state = t;
	return 0;
}

static int clear(void **state)
{
	temp_dir_remove(*state);
	free(*state);
	return 0;
}

static bool is_there(const struct temp_dir *t, const char *name)
{
	struct stat st;

	return fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* As if it had been made a minute ago. */
static void age(const struct temp_dir *t, const char *name)
{
	const struct timespec then = {.tv_sec = time(NULL) - 60};

	assert_int_equal(utimensat(t->fd, name, (const struct timespec[]){then, then},
				   AT_SYMLINK_NOFOLLOW),
			 0);
}

/* The name of a directory whose process is gone; in it a socket, as far as names tell. */
static void leave_one(const struct temp_dir *t, char ret[64])
{
	struct run_dir f;
	char path[128];

	assert_true(run_dir_make(&f, t->path));
	snprintf(ret, 64, "%s", f.path + strlen(t->path) + 1);
	snprintf(path, sizeof(path), "%s/socket", ret);
	write_text(t->fd, path, "");
	age(t, ret);
	close(f.fd);
}

static void test_life(void **state)
{
	const struct temp_dir *t = *state;
	struct run_dir f;
	struct stat st;
	char path[128];

	assert_true(run_dir_make(&f, t->path));
	assert_int_equal(strncmp(f.path, t->path, strlen(t->path)), 0);
	assert_int_equal(stat(f.path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	snprintf(path, sizeof(path), "%s/socket", f.path + strlen(t->path) + 1);
	write_text(t->fd, path, "");
	run_dir_remove(&f);
	assert_int_equal(rmdir(t->path), 0); /* nothing is in it */
	assert_int_equal(mkdir(t->path, 0700), 0);
	run_dir_remove(&f);
	f = (struct run_dir){.fd = 0};
	run_dir_remove(&f);
	assert_int_equal(fcntl(0, F_GETFD), 0);
	assert_false(run_dir_make(&f, "/nonexistent"));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(f.path, "");
	assert_false(run_dir_make(&f, "/a/path/that/is/longer/than/a/socket/may/have/with/it"));
	assert_int_equal(errno, ENAMETOOLONG);
}

static void test_left(void **state)
{
	const struct temp_dir *t = *state;
	struct run_dir live, next;
	char left[64], kept[64], young[64], path[128];

	assert_true(run_dir_make(&live, t->path));
	age(t, live.path + strlen(t->path) + 1);
	leave_one(t, kept);
	snprintf(path, sizeof(path), "%s/thing", kept);
	write_text(t->fd, path, "");
	age(t, kept);
	leave_one(t, young);
	assert_int_equal(utimensat(t->fd, young, NULL, 0), 0);
	leave_one(t, left);
	assert_true(is_there(t, left));
	assert_true(run_dir_make(&next, t->path));
	assert_false(is_there(t, left));
	assert_true(is_there(t, path)); /* something else lies in it */
	assert_true(is_there(t, young));
	assert_true(is_there(t, live.path + strlen(t->path) + 1));
	run_dir_remove(&live);
	run_dir_remove(&next);
}

/* What is no such directory, or not ours. */
static void test_others(void **state)
{
	static const char *const dirs[] = {"profd-run-test-1",  "profd-run-12345",
					   "profd-run-1234567", "profd-run-a_b_cd",
					   "profd-run-123456-", "other"};
	const struct temp_dir *t = *state;
	struct run_dir f;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_int_equal(mkdirat(t->fd, dirs[i], 0700), 0);
	assert_int_equal(mkdirat(t->fd, "profd-run-public", 0700), 0);
	assert_int_equal(mkdirat(t->fd, "profd-run-public/profd-run-abcdef", 0700), 0);
	assert_int_equal(mkdirat(t->fd, "profd-run-a00000", 0755), 0);
	assert_int_equal(symlinkat("other", t->fd, "profd-run-b00000"), 0);
	write_text(t->fd, "profd-run-c00000", "");
	write_text(t->fd, "other/socket", "");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		age(t, dirs[i]);
	age(t, "profd-run-public/profd-run-abcdef");
	age(t, "profd-run-a00000");
	age(t, "profd-run-b00000");
	assert_true(run_dir_make(&f, t->path));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_true(is_there(t, dirs[i]));
	assert_true(is_there(t, "profd-run-public/profd-run-abcdef"));
	assert_true(is_there(t, "profd-run-a00000"));
	assert_true(is_there(t, "profd-run-b00000"));
	assert_true(is_there(t, "profd-run-c00000"));
	assert_true(is_there(t, "other/socket"));
	run_dir_remove(&f);
}

/* Many at once: none takes another's. */
static void test_race(void **state)
{
	const struct temp_dir *t = *state;
	int status, failed = 0;

	for (unsigned i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid)
			continue;
		for (unsigned k = 0; k < 300; k++) {
			struct run_dir f;

			if (!run_dir_make(&f, t->path) || access(f.path, F_OK) < 0)
				_exit(1);
			run_dir_remove(&f);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	assert_int_equal(failed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_life),
		TEST(test_left),
		TEST(test_others),
		TEST(test_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
