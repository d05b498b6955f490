/* SPDX-License-Identifier: MIT */
/*
 * Runs the checks of host_checks.c over this host, and one more: whether a profd answers. They need
 * no profd; what is found is printed as lines, or as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/host_checks.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/unixsock.h"

static const char *const level_names[] = {"ok", "warn", "bad"};
static const char *const level_colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};

/* Opens a counter of our own cycles in user mode, the least that can be asked of a PMU. */
static int try_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	cleanup(closep) int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
					      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static void check_daemon(const struct context *context, struct check *ret)
{
	cleanup(closep) int fd = -1;
	int r = unixsock_connect(context->socket, &fd);

	*ret = (struct check){.name = "daemon"};
	if (r == UNIXSOCK_E_OK)
		check_set(ret, CHECK_OK, NULL, "profd listens at %s", context->socket);
	else if (r == UNIXSOCK_E_DENIED)
		check_set(ret, CHECK_WARN,
			  "see socket_mode in profd.conf, or ask to be a member of group profd",
			  "you may not connect to %s", context->socket);
	else
		check_set(ret, CHECK_WARN,
			  context->user ? "systemctl --user enable --now profd"
					: "systemctl enable --now profd",
			  "no profd answers at %s", context->socket);
}

static void doctor_print(const struct context *context, const struct check *checks, size_t n,
			 bool as_json)
{
	struct json j = {.out = context->out};

	if (as_json)
		json_begin_array(&j, NULL);
	for (const struct check *c = checks; c < checks + n; c++) {
		if (as_json) {
			json_begin_object(&j, NULL);
			json_text(&j, "check", c->name);
			json_text(&j, "level", level_names[c->level]);
			json_text(&j, "finding", c->finding);
			json_text(&j, "remedy", *c->remedy ? c->remedy : NULL);
			json_close(&j);
			continue;
		}
		fprintf(context->out, "%s%-4s%s  %-14s  ",
			context->color ? level_colors[c->level] : "", level_names[c->level],
			context->color ? "\x1b[0m" : "", c->name);
		print_safely(context->out, c->finding);
		if (*c->remedy)
			fprintf(context->out, "; %s", c->remedy);
		fputc('\n', context->out);
	}
	if (as_json)
		json_end(&j);
}

int doctor_run(struct context *context, int argc, char **argv)
{
	struct check checks[HOST_CHECKS_MAX + 1];
	cleanup(closep) int proc_fd = -1;
	cleanup(closep) int sys_fd = -1;
	bool json;
	struct usage_message message;
	struct rlimit memlock = {.rlim_cur = RLIM_INFINITY};
	struct utsname uts;
	struct host host;
	size_t n;
	int r = plain_parse(argc, argv, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || sys_fd < 0 || uname(&uts) < 0)
		return profctl_complain(context, STATUS_FAILED,
					"/proc and /sys must be mounted: %s",
					strerrordesc_np(errno));
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	host = (struct host){
		.proc_fd = proc_fd,
		.sys_fd = sys_fd,
		.release = uts.release,
		.version = uts.version,
		.machine = uts.machine,
		.memlock_bytes = memlock.rlim_cur == RLIM_INFINITY ? UINT64_MAX : memlock.rlim_cur,
		.pmu_error = try_pmu(),
	};
	n = host_checks(&host, checks);
	check_daemon(context, &checks[n++]);
	doctor_print(context, checks, n, json);
	for (size_t i = 0; i < n; i++)
		if (checks[i].level == CHECK_BAD)
			return STATUS_FAILED;
	return STATUS_DONE;
}
