/* SPDX-License-Identifier: MIT */
/* Who may change nothing still reads. */
#include "common/helper/enclose.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_LANDLOCK 77

/* 0, or a number that says what was possible. */
static int child_main(int directory)
{
	char c;
	int open_before = openat(directory, "file", O_RDWR), fd;

	if (enclose_deny_changes() || open_before < 0)
		return 1;
	fd = openat(directory, "file", O_WRONLY);
	if (fd >= 0)
		return NO_LANDLOCK;
	if (errno != EACCES || openat(directory, "new", O_WRONLY | O_CREAT, 0600) >= 0 ||
	    mkdirat(directory, "new", 0700) == 0 || unlinkat(directory, "file", 0) == 0 ||
	    symlinkat("file", directory, "link") == 0 ||
	    renameat(directory, "file", directory, "other") == 0)
		return 2;
	fd = openat(directory, "file", O_RDONLY);
	return read(fd, &c, 1) == 1 && c == 'x' && write(open_before, "y", 1) == 1 ? 0 : 3;
}

static void test_changes(void **state)
{
	char path[] = "/tmp/profd-enclose-XXXXXX";
	int directory, fd, status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(path));
	directory = open(path, O_RDONLY | O_DIRECTORY);
	fd = openat(directory, "file", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	pid = fork();
	if (!pid)
		_exit(child_main(directory));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(unlinkat(directory, "file", 0), 0);
	close(directory);
	rmdir(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_LANDLOCK)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
