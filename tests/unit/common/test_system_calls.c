/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "common/system_calls.h"

static void assert_name(unsigned number, const char *wanted)
{
	char name[SYSTEM_CALL_NAME_SIZE];

	system_call_name(number, name);
	assert_string_equal(name, wanted);
}

/* Some that any architecture has, by the C library's numbers. */
static void test_names(void **state)
{
	(void)state;
	assert_name(SYS_read, "read");
	assert_name(SYS_futex, "futex");
	assert_name(SYS_epoll_pwait, "epoll_pwait");
	assert_name(SYS_nanosleep, "nanosleep");
	assert_name(SYS_pidfd_open, "pidfd_open");
}

static void test_unknown(void **state)
{
	(void)state;
	assert_name(32767, "syscall 32767");
	assert_name(UINT32_MAX, "syscall 4294967295");
	for (unsigned i = 0; i < n_system_call_names + 1; i++) {
		char name[SYSTEM_CALL_NAME_SIZE];

		system_call_name(i, name);
		assert_true(*name && strlen(name) < sizeof(name) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
