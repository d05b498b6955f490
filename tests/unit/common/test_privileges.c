/* SPDX-License-Identifier: MIT */
/* What is left after privileges were given up: nothing, whoever begins. */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/privileges.h"

/* What a child finds out, as its exit status; 0: all is well. */
static int try_drop(void)
{
	uid_t before = geteuid(), real, effective, saved;
	const gid_t groups[] = {1, 2};
	struct privileges_user user = {.uid = 12345, .gid = 54321};
	gid_t have[8];
	int r;

	user.groups = groups;
	user.n_groups = 2;
	if (before == 0 && privileges_are_dropped() &&
	    prctl(PR_CAPBSET_READ, CAP_SETUID, 0, 0, 0) > 0)
		return 1;
	r = privileges_drop(&user);
	if (r != PRIVILEGES_E_OK && r != PRIVILEGES_E_ROOT)
		return 2;
	if (!privileges_are_dropped() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 3;
	if (getresuid(&real, &effective, &saved) < 0 || real != effective || real != saved)
		return 4;
	if (before && real != before)
		return 5;
	if (!before && r == PRIVILEGES_E_OK &&
	    (real != 12345 || getegid() != 54321 || getgroups(8, have) != 2))
		return 6;
	if (!before && (r == PRIVILEGES_E_ROOT) != (real == 0))
		return 7;
	/* There is no way back. */
	if (real && setresuid(0, 0, 0) == 0)
		return 8;
	return privileges_have(CAP_KILL) ? 9 : 0;
}

/* Also for one who has moved all that it may into the set that counts only for execve(2). */
static int try_look(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
	uint32_t all = 0;

	if (syscall(SYS_capget, &header, have) < 0)
		return 1;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		have[i].inheritable |= have[i].permitted;
		all |= have[i].inheritable;
	}
	if (privileges_are_dropped() != (all == 0))
		return 2;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		have[i].permitted = have[i].effective = 0;
	if (syscall(SYS_capset, &header, have) < 0)
		return 3;
	return privileges_are_dropped() == (all == 0) ? 0 : 4;
}

static void assert_child(int (*try)(void))
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_drop(void **state)
{
	(void)state;
	assert_child(try_drop);
}

static void test_look(void **state)
{
	(void)state;
	assert_child(try_look);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
