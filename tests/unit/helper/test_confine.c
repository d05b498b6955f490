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

/* As with a kernel that has no filters: a table is compiled there, too, and cannot be entered. */
static int try_without(void)
{
	const struct confine_table table = {first, ARRAY_SIZE(first)};
	struct confine_filter *filter = NULL;

	if (confine_is_available())
		return 1;
	if (confine_compile(&filter, &table, 1, SCMP_ACT_KILL_PROCESS))
		return 2;
	return confine_enter(filter) != -ENOSYS;
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

/* As a kernel that has no filters. */
static void test_not_available(void **state)
{
	static const struct confine_call none[] = {CONFINE_ANY(exit_group), CONFINE_ANY(brk),
						   CONFINE_ANY(mmap)};
	static const struct confine_call old[] = {CONFINE_ANY(exit_group), CONFINE_ANY(brk),
						  CONFINE_ANY(mmap),
						  CONFINE_REFUSE(seccomp, EINVAL)};
	const struct confine_table tables[] = {{none, ARRAY_SIZE(none)}, {old, ARRAY_SIZE(old)}};

	(void)state;
	assert_true(confine_is_available());
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		cleanup(confine_filter_freep) struct confine_filter *filter = compile(&tables[i],
										      1);

		assert_in_child(filter, NULL, try_without);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_the_table_has),
		cmocka_unit_test(test_a_second_filter_only_takes_away),
		cmocka_unit_test(test_not_available),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
