/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/perf_admin.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/sources.h"

/* capset(2) and capget(2): the calling thread's. CAP_SYS_ADMIN is in the first of the two words. */
struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

#define PARANOID_WITHOUT 2 /* up to this level CAP_PERFMON is enough */

static const uint32_t admin = UINT32_C(1) << CAP_SYS_ADMIN;
/* With this one all the others can be had. */
static const uint32_t all = UINT32_C(1) << CAP_DAC_OVERRIDE;

static bool perf_admin_get_caps(struct capabilities *ret)
{
	ret->header = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, &ret->header, ret->data) == 0;
}

static bool perf_admin_set_caps(struct capabilities *c)
{
	return syscall(SYS_capset, &c->header, c->data) == 0;
}

/* With what is inheritable goes what is ambient (capabilities(7)). */
static int perf_admin_keep(uint32_t permitted)
{
	struct capabilities c;

	if (!perf_admin_get_caps(&c))
		return error_origin(-errno);
	if (!(c.data[0].permitted & admin) || c.data[0].permitted & all)
		return 0;
	c.data[0].permitted &= permitted | ~admin;
	c.data[0].effective &= ~admin;
	c.data[0].inheritable &= ~admin;
	return perf_admin_set_caps(&c) ? 0 : error_origin(-errno);
}

int perf_admin_set_aside(void)
{
	return perf_admin_keep(admin);
}

int perf_admin_give_up(void)
{
	return event_paranoid_level() > PARANOID_WITHOUT ? 0 : perf_admin_keep(0);
}

/* Whether it was set aside and is in effect now. */
static bool perf_admin_raise(struct capabilities *c)
{
	if (!perf_admin_get_caps(c) || !(c->data[0].permitted & ~c->data[0].effective & admin))
		return false;
	c->data[0].effective |= admin;
	return perf_admin_set_caps(c);
}

/* The kernel does not write to @attr but for its size, when that is wrong. */
static int try_perf_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_admin_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct capabilities c;
	int fd = try_perf_event_open(attr, pid, cpu);

	if ((fd != -EACCES && fd != -EPERM) || !perf_admin_raise(&c))
		return fd;
	fd = try_perf_event_open(attr, pid, cpu);
	c.data[0].effective &= ~admin;
	perf_admin_set_caps(&c); /* giving up is always allowed */
	return fd;
}
