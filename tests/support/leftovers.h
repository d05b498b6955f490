/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_LEFTOVERS_H
#define PROFD_TESTS_LEFTOVERS_H

/*
 * What tests must not leave behind: file descriptors and children. LEFTOVERS_TEST(f) is the test
 * @f, whose state is nobody's business, and fails where there are more of either than before.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Open descriptors of ours, and the one that is open to count them: for comparisons. */
static inline unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* One that was killed may take its time to end on a busy machine; nobody waits for it as long. */
static inline void assert_no_children(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) == 0)
		assert_true(waitpid(-1, NULL, 0) > 0);
	assert_int_equal(pid, -1);
	assert_int_equal(errno, ECHILD);
}

static inline int leftovers_note(void **state)
{
	static unsigned n_fds;

	n_fds = count_fds();
	*state = &n_fds;
	return 0;
}

static inline int leftovers_check(void **state)
{
	const unsigned *n_fds = *state;

	assert_int_equal(count_fds(), *n_fds);
	assert_no_children();
	return 0;
}

#define LEFTOVERS_TEST(test) cmocka_unit_test_setup_teardown(test, leftovers_note, leftovers_check)

#endif
