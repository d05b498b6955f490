/* SPDX-License-Identifier: MIT */
#include "common/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"

const struct privileges_user privileges_nobody = {
	.uid = PRIVILEGES_NOBODY,
	.gid = PRIVILEGES_NOBODY,
};

static int privileges_become_user(const struct privileges_user *user)
{
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) < 0)
		return error_origin(-errno);
	if (real && effective && saved)
		return PRIVILEGES_E_OK;
	if (setgroups(user->n_groups, user->groups) == 0 &&
	    setresgid(user->gid, user->gid, user->gid) == 0 &&
	    setresuid(user->uid, user->uid, user->uid) == 0)
		return PRIVILEGES_E_OK;
	if (errno != EPERM && errno != EINVAL)
		return error_origin(-errno);
	return PRIVILEGES_E_ROOT;
}

/*
 * The bounding set takes CAP_SETPCAP. A process that lacks it cannot empty it, and does not have
 * to: nothing is gained from it without execve(2), nor with it where no new privileges are to be
 * had.
 */
static void empty_bounding_set(void)
{
	for (unsigned long i = 0; i < 64; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return;
}

int privileges_drop(const struct privileges_user *user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	int r;

	empty_bounding_set();
	r = privileges_become_user(user);
	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_origin(-errno);
	return r;
}

/* With what is inheritable goes what is ambient (capabilities(7)). */
int privileges_keep(uint64_t kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, have) < 0)
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		have[i].permitted &= (uint32_t)(kept >> (32 * i));
		have[i].effective = have[i].permitted;
		have[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, have) < 0 ? -errno : 0;
}

bool privileges_have(unsigned capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, have) == 0 &&
	       have[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

/* capabilities(7): what is ambient is permitted and inheritable, too. */
bool privileges_are_dropped(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, have) < 0)
		return false;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (have[i].effective || have[i].permitted || have[i].inheritable)
			return false;
	return true;
}
