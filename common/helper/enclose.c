/* SPDX-License-Identifier: MIT */
#include "common/helper/enclose.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

/* Never up: what was set for us, by systemd or a shell, stays where it is lower. */
static int enclose_set_rlimit(int resource, uint64_t value)
{
	struct rlimit now, wanted;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return error_origin(-errno);
	wanted.rlim_max = value < now.rlim_max ? value : now.rlim_max;
	wanted.rlim_cur = wanted.rlim_max < now.rlim_cur ? wanted.rlim_max : now.rlim_cur;
	if (setrlimit((__rlimit_resource_t)resource, &wanted) < 0)
		return error_origin(-errno);
	return 0;
}

int enclose_limit_resources(const struct enclose_limit *limits, size_t n)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = enclose_set_rlimit(limits[i].resource, limits[i].value);
	return r;
}

void enclose_offer_to_end(void)
{
	static const char most[] = "1000";
	cleanup(closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, most, strlen(most));
}

/* linux/landlock.h of Debian 12 ends with the second version of this. */
struct landlock_rights {
	uint64_t fs, net, scoped;
};

/* To execute and read files, to read directories, and what devices do. */
#define LANDLOCK_READING \
	(UINT64_C(1) << 0 | UINT64_C(1) << 2 | UINT64_C(1) << 3 | UINT64_C(1) << 15)

#ifndef LANDLOCK_CREATE_RULESET_VERSION
#define LANDLOCK_CREATE_RULESET_VERSION 1u
#endif

/* By version of the interface (landlock(7)): how many rights of each sort there are to handle. */
static struct landlock_rights landlock_all_rights(long version)
{
	static const struct {
		unsigned fs, net, scoped;
	} n_rights[] = {
		{13, 0, 0}, /* Linux 5.13 */
		{14, 0, 0}, /* 5.19: refer */
		{15, 0, 0}, /* 6.2: truncate */
		{15, 2, 0}, /* 6.7: bind and connect, TCP */
		{16, 2, 0}, /* 6.10: ioctl of devices */
		{16, 2, 2}, /* 6.12: abstract sockets, signals */
	};
	size_t i = (size_t)(version < (long)ARRAY_SIZE(n_rights) ? version
								 : (long)ARRAY_SIZE(n_rights)) -
		   1;

	return (struct landlock_rights){
		.fs = (UINT64_C(1) << n_rights[i].fs) - 1,
		.net = (UINT64_C(1) << n_rights[i].net) - 1,
		.scoped = (UINT64_C(1) << n_rights[i].scoped) - 1,
	};
}

/* Of the version that the kernel has; 0: none, or a filter around us that does not know it. */
static int landlock_find_version(long *ret)
{
	*ret = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (*ret >= 1)
		return 0;
	*ret = 0;
	/* EPERM: such a filter, never landlock itself. */
	return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : error_origin(-errno);
}

/* What needs one of @rights is forbidden: there is no rule that allows any. */
static int landlock_give_up(const struct landlock_rights *rights, long version)
{
	cleanup(closep) int ruleset = -1;
	size_t size = version >= 6   ? sizeof(*rights)
		      : version >= 4 ? offsetof(struct landlock_rights, scoped)
				     : offsetof(struct landlock_rights, net);

	ruleset = (int)syscall(SYS_landlock_create_ruleset, rights, size, 0);
	if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return error_origin(-errno);
	return 0;
}

int enclose_deny_files(void)
{
	struct landlock_rights rights;
	long version;
	int r = landlock_find_version(&version);

	if (r || !version)
		return r;
	rights = landlock_all_rights(version);
	return landlock_give_up(&rights, version);
}

int enclose_deny_changes(void)
{
	struct landlock_rights rights = {0};
	long version;
	int r = landlock_find_version(&version);

	if (r || !version)
		return r;
	rights.fs = landlock_all_rights(version).fs & ~LANDLOCK_READING;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_origin(-errno);
	return landlock_give_up(&rights, version);
}
