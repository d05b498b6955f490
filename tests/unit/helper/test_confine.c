/* SPDX-License-Identifier: MIT */
/* What a filter leaves to a process, in children that enter it: by what they can still do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/helper/confine.h"

static const struct confine_call first[] = {
	CONFINE_ANY(exit_group),
	CONFINE_ANY(seccomp),
	CONFINE_ANY(getppid),
	CONFINE_ANY(umask),
	CONFINE_IF(prctl, CONFINE_IS(0, PR_SET_NO_NEW_PRIVS)),
	CONFINE_IF(getpriority, CONFINE_AT_LEAST(1, 7)),
	CONFINE_IF_BOTH(getrlimit, CONFINE_IS(0, RLIMIT_CORE), CONFINE_BITS(1, 1, 0)),
};
static const struct confine_call second[] = {
	CONFINE_ANY(getuid),
	CONFINE_REFUSE(umask, EMFILE),
};

static bool fails_with(int e, long r)
{
	return r == -1 && errno == e;
}

/* Each returns the number of the first thing that is not as it should be; 0: none. */
static int try_one_table(void)
{
	uint64_t limit[2 + 1];

	return fails_with(ENOSYS, syscall(SYS_getppid))                                      ? 1
	       : fails_with(EACCES, syscall(SYS_umask, 077))                                 ? 2
	       : !fails_with(ENOSYS, syscall(SYS_getuid))                                    ? 3
	       : !fails_with(ENOSYS, syscall(SYS_getpriority, PRIO_USER, 6))                 ? 4
	       : fails_with(ENOSYS, syscall(SYS_getpriority, PRIO_USER, 7))                  ? 5
	       : fails_with(ENOSYS, syscall(SYS_getrlimit, RLIMIT_CORE, limit))              ? 6
	       : !fails_with(ENOSYS, syscall(SYS_getrlimit, RLIMIT_CPU, limit))              ? 7
	       : !fails_with(ENOSYS, syscall(SYS_getrlimit, RLIMIT_CORE, (char *)limit + 1)) ? 8
											     : 0;
}

static int try_narrower(void)
{
	return !fails_with(ENOSYS, syscall(SYS_getppid))      ? 1
	       : !fails_with(ENOSYS, syscall(SYS_getuid))     ? 2
	       : !fails_with(EMFILE, syscall(SYS_umask, 077)) ? 3
							      : 0;
}

static void assert_in_child(const struct confine_filter *a, const struct confine_filter *b,
			    int (*try)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (confine_enter(a) || (b && confine_enter(b)))
			syscall(SYS_exit_group, 100);
		syscall(SYS_exit_group, try());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct confine_filter *compile(const struct confine_table *tables, size_t n)
{
	struct confine_filter *filter = NULL;

	assert_int_equal(confine_compile(&filter, tables, n, SCMP_ACT_ERRNO(ENOSYS)), 0);
	return filter;
}

static void test_only_what_the_table_has(void **state)
{
	const struct confine_table table = {first, ARRAY_SIZE(first)};
	cleanup(confine_filter_freep) struct confine_filter *filter = compile(&table, 1);

	(void)state;
	assert_in_child(filter, NULL, try_one_table);
}

/* What a second filter allows and the first one did not stays forbidden. */
static void test_a_second_filter_only_takes_away(void **state)
{
	static const struct confine_call rest[] = {CONFINE_ANY(exit_group)};
	const struct confine_table wide = {first, ARRAY_SIZE(first)},
				   narrow[] = {{second, ARRAY_SIZE(second)},
					       {rest, ARRAY_SIZE(rest)}};
	cleanup(confine_filter_freep) struct confine_filter *a = compile(&wide, 1);
	cleanup(confine_filter_freep) struct confine_filter *b = compile(narrow, 2);

	(void)state;
	assert_in_child(a, b, try_narrower);
}

static int try_refused(void)
{
	return !fails_with(EMFILE, syscall(SYS_umask, 077)) ? 1
	       : fails_with(EMFILE, syscall(SYS_getppid))   ? 2
							    : 0;
}

static void test_all_but_what_the_table_has(void **state)
{
	static const struct confine_call refused[] = {CONFINE_REFUSE(umask, EMFILE)};
	const struct confine_table table = {refused, ARRAY_SIZE(refused)};
	cleanup(confine_filter_freep) struct confine_filter *filter = NULL;

	(void)state;
	assert_int_equal(confine_compile(&filter, &table, 1, SCMP_ACT_ALLOW), 0);
	assert_in_child(filter, NULL, try_refused);
}

/* As on a kernel where seccomp(2) fails with @error. What is compiled there cannot be entered. */
static int try_without(int error)
{
	const struct confine_table table = {first, ARRAY_SIZE(first)};
	scmp_filter_ctx kernel = seccomp_init(SCMP_ACT_ALLOW);
	struct confine_filter *filter = NULL;

	if (!kernel || seccomp_rule_add(kernel, SCMP_ACT_ERRNO(error), SCMP_SYS(seccomp), 0) ||
	    seccomp_load(kernel))
		return 1;
	if (confine_is_available())
		return 2;
	if (confine_compile(&filter, &table, 1, SCMP_ACT_KILL_PROCESS))
		return 3;
	return confine_enter(filter) == -ENOSYS ? 0 : 4;
}

/* A kernel that has none of it, or no filters. */
static void test_not_available(void **state)
{
	static const int errors[] = {ENOSYS, EINVAL};
	int status;

	(void)state;
	assert_true(confine_is_available());
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		pid_t pid = fork();

		if (pid == 0)
			syscall(SYS_exit_group, try_without(errors[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_the_table_has),
		cmocka_unit_test(test_a_second_filter_only_takes_away),
		cmocka_unit_test(test_all_but_what_the_table_has),
		cmocka_unit_test(test_not_available),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
