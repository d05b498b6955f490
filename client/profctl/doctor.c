/* SPDX-License-Identifier: MIT */
/*
 * A table of checks, each of which looks at one thing below /proc or /sys and sets its level, its
 * finding, and what to do about it. What cannot be read is a finding, too. The verb runs them over
 * this host, and one more: whether a profd answers, which they do not need.
 */
#include "client/profctl/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/perf_event.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "client/symbolize/debug_server.h"
#include "common/bpf_features.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/proc.h"
#include "common/unixsock.h"

#define TEXT_SIZE     8192
#define PARANOID_FILE "sys/kernel/perf_event_paranoid"
#define RATE_GOOD     4000
#define RATE_SYSCTL   "kernel.perf_event_max_sample_rate"

static void check_set(struct check *c, enum check_level level, const char *remedy,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What was found, and what to do about it: @remedy NULL: nothing. */
static void check_set(struct check *c, enum check_level level, const char *remedy,
		      const char *format, ...)
{
	va_list args;

	c->level = level;
	snprintf(c->remedy, sizeof(c->remedy), "%s", remedy ? remedy : "");
	va_start(args, format);
	vsnprintf(c->finding, sizeof(c->finding), format, args);
	va_end(args);
}

/* The beginning of a file, NUL-terminated; false if there is none that we may read. */
static bool host_read_text(int directory, const char *path, char text[TEXT_SIZE])
{
	cleanup(closep) int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_SIZE - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

static bool host_read_long(int directory, const char *path, long *ret)
{
	char text[TEXT_SIZE], *end;

	if (!host_read_text(directory, path, text))
		return false;
	errno = 0;
	*ret = strtol(text, &end, 10);
	return errno == 0 && end != text;
}

static unsigned host_kernel_version(const struct host *host)
{
	char text[TEXT_SIZE];
	bool has = host_read_text(host->proc_fd, "version_signature", text);

	if (has)
		text[strcspn(text, "\n")] = '\0';
	return kernel_version(host->release, host->version, has ? text : NULL);
}

static void check_kernel(const struct host *host, struct check *c)
{
	unsigned version = host_kernel_version(host);

	if (!version) {
		check_set(c, CHECK_WARN,
			  "its faults are not known either, so profd uses plain perf events",
			  "Linux %s: unknown version", host->release);
		return;
	}
	check_set(c, CHECK_OK, NULL, "Linux %u.%u.%u (%s), %s", KERNEL_VERSION_PARTS(version),
		  host->release, host->machine);
}

/* The fault of kernel versions that profd must keep away from. */
static void check_faults(const struct host *host, struct check *c)
{
	if (!kernel_can_lock_up(host_kernel_version(host)))
		check_set(c, CHECK_OK, NULL, "no known fault affects profd");
	else
		check_set(c, CHECK_BAD,
			  "upgrade to 6.1.36, 6.3.10, 6.4 or newer, or run profd --source perf",
			  "this kernel can lock up when BPF reads user memory in a perf interrupt");
}

/* What distributions brought to an older kernel counts, its version does not. */
static void check_bpf(const struct host *host, struct check *c)
{
	static const char poorer[] = "profd uses plain perf events: at a higher cost, and stacks "
				     "end where their copy ends; "
				     "Linux 5.17 and newer have all";
	char missing[BPF_FEATURES_TEXT_MAX];

	if (bpf_features_read_missing(BPF_FEATURES_SAMPLES, host->sys_fd, missing))
		check_set(c, CHECK_WARN,
			  "use a kernel with CONFIG_DEBUG_INFO_BTF=y; without it profd uses plain "
			  "perf events",
			  "no /sys/kernel/btf/vmlinux: BPF programs cannot be adapted");
	else if (*missing)
		check_set(c, CHECK_WARN, poorer, "BPF of this kernel lacks %s", missing);
	else
		check_set(c, CHECK_OK, NULL, "BPF has all features that profd uses");
}

/* Whether the scheduler can be asked, and where stacks are taken. */
static void check_waits(const struct host *host, struct check *c)
{
	char missing[BPF_FEATURES_TEXT_MAX];

	if (bpf_features_read_missing(BPF_FEATURES_SAMPLES, host->sys_fd, missing) ||
	    (!*missing && bpf_features_read_missing(BPF_FEATURES_WAITS, host->sys_fd, missing)))
		strcpy(missing, "BTF");
	if (*missing)
		check_set(c, CHECK_WARN, "off_cpu, -e off-cpu and -e wall do not work here",
			  "waits cannot be sampled: BPF of this kernel lacks %s", missing);
	else
		check_set(c, CHECK_OK, NULL,
			  "waits are sampled when they end (sched_switch), stacks "
			  "by " BPF_FEATURES_INTERRUPT);
}

static void check_pmu(const struct host *host, struct check *c)
{
	switch (host->pmu_error) {
	case 0:
		check_set(c, CHECK_OK, NULL, "the CPU counts cycles");
		break;
	case EACCES:
	case EPERM:
		check_set(c, CHECK_WARN, "run profctl doctor as root",
			  "unknown: not allowed to open a counter");
		break;
	default:
		check_set(c, CHECK_WARN,
			  "in a virtual machine: let the hypervisor pass the PMU through",
			  "the CPU has no usable cycle counter (%s): event auto is cpu-clock",
			  strerrordesc_np(host->pmu_error));
	}
}

static bool capability_set(const char *status, const char *key, uint64_t *ret)
{
	const char *line = strstr(status, key);

	if (!line)
		return false;
	*ret = strtoull(line + strlen(key), NULL, 16);
	return true;
}

static void check_capabilities(const struct host *host, struct check *c)
{
	static const struct {
		unsigned number;
		const char *name;
	} needed[] = {{CAP_BPF, "CAP_BPF"},
		      {CAP_PERFMON, "CAP_PERFMON"},
		      {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
		      {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
		      {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE"},
		      {CAP_SYSLOG, "CAP_SYSLOG"}};
	char text[TEXT_SIZE], missing[160] = "";
	uint64_t effective, bounding;
	bool all_effective = true;

	if (!host_read_text(host->proc_fd, "self/status", text) ||
	    !capability_set(text, "\nCapEff:", &effective) ||
	    !capability_set(text, "\nCapBnd:", &bounding)) {
		check_set(c, CHECK_WARN, NULL, "unknown: /proc/self/status cannot be parsed");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		all_effective &= effective >> needed[i].number & 1;
		if (bounding >> needed[i].number & 1)
			continue;
		strcat(missing, " ");
		strcat(missing, needed[i].name);
	}
	if (*missing) {
		check_set(c, CHECK_BAD,
			  "give the container or unit these capabilities (CapabilityBoundingSet=, "
			  "--cap-add)",
			  "not in the bounding set here:%s", missing);
	} else if (!all_effective) {
		check_set(c, CHECK_OK, "start profd with systemctl, or your own with profd --user",
			  "you lack some capabilities that profd needs; systemd can grant them");
	} else {
		check_set(c, CHECK_OK, NULL, "all capabilities that profd needs");
	}
}

static void check_pids(const struct host *host, struct check *c)
{
	switch (proc_pids(host->proc_fd)) {
	case PROC_PIDS_INITIAL:
		check_set(c, CHECK_OK, NULL, "the host's: all processes can be sampled");
		break;
	case PROC_PIDS_INNER:
		check_set(c, CHECK_WARN, "for the whole machine, " PROC_PIDS_REMEDY,
			  "a pid namespace's: processes outside it are not sampled");
		break;
	default:
		check_set(c, CHECK_BAD, PROC_PIDS_MOUNT ", or " PROC_PIDS_REMEDY,
			  "/proc is that of another pid namespace: profd does not start");
	}
}

static void check_paranoid(const struct host *host, struct check *c)
{
	long level;

	if (!host_read_long(host->proc_fd, PARANOID_FILE, &level)) {
		check_set(c, CHECK_BAD, "use a kernel with CONFIG_PERF_EVENTS=y",
			  "no /proc/sys/kernel/perf_event_paranoid: no perf events");
		return;
	}
	check_set(c, CHECK_OK, NULL, "kernel.perf_event_paranoid = %ld%s", level,
		  level > 2 ? ": perf events need CAP_SYS_ADMIN, which profd.service has "
			      "while it opens "
			      "them"
			    : "");
}

/* What a profd without privileges can do: nothing but perf events for its user's processes. */
static void check_user(const struct host *host, struct check *c)
{
	long level;

	if (!host_read_long(host->proc_fd, PARANOID_FILE, &level)) {
		check_set(c, CHECK_WARN, NULL,
			  "without perf events, it samples only programs with libprofd");
		return;
	}
	if (level <= 1)
		check_set(c, CHECK_OK, NULL,
			  "samples your own processes, including the kernel on their behalf");
	else if (level == 2)
		check_set(
			c, CHECK_OK, "sysctl kernel.perf_event_paranoid=1 to include that",
			"samples your own processes in user mode, not the kernel on their behalf");
	else
		check_set(c, CHECK_WARN,
			  "sysctl kernel.perf_event_paranoid=2, or use the system's profd",
			  "samples only programs with libprofd while kernel.perf_event_paranoid is "
			  "above 2");
}

static void check_sample_rate(const struct host *host, struct check *c)
{
	long rate;

	if (!host_read_long(host->proc_fd, "sys/kernel/perf_event_max_sample_rate", &rate))
		check_set(c, CHECK_WARN, NULL, RATE_SYSCTL " cannot be read");
	else if (rate >= RATE_GOOD)
		check_set(c, CHECK_OK, NULL, RATE_SYSCTL " = %ld", rate);
	else
		check_set(c, CHECK_WARN,
			  "no session can sample faster; sysctl " RATE_SYSCTL
			  "=100000 (the kernel lowers it when interrupts take long)",
			  RATE_SYSCTL " = %ld", rate);
}

static void check_memlock(const struct host *host, struct check *c)
{
	char text[TEXT_SIZE];
	uint64_t effective = 0;
	bool is_small;

	if (host_read_text(host->proc_fd, "self/status", text))
		capability_set(text, "\nCapEff:", &effective);
	is_small = host->memlock_bytes < (8 << 20);
	if (host->memlock_bytes == UINT64_MAX || (effective >> CAP_IPC_LOCK & 1))
		check_set(c, CHECK_OK, NULL, "locked memory is not limited");
	else
		check_set(c, is_small ? CHECK_WARN : CHECK_OK,
			  is_small ? "LimitMEMLOCK=64M in the unit, ulimit -l, or CAP_IPC_LOCK"
				   : NULL,
			  "at most %s for all perf buffers together",
			  TEXT_OF_SIZE(host->memlock_bytes));
}

static void check_kallsyms(const struct host *host, struct check *c)
{
	char text[TEXT_SIZE];
	long restrict_level = 0;

	if (!host_read_text(host->proc_fd, "kallsyms", text) || !*text) {
		check_set(c, CHECK_WARN,
			  "in the unit: ProtectKernelTunables=no; or CONFIG_KALLSYMS=y",
			  "/proc/kallsyms cannot be read: kernel frames have no names");
		return;
	}
	/* Addresses that are withheld read as 0, all of them. */
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16)) {
			check_set(c, CHECK_OK, NULL, "kernel functions have names and addresses");
			return;
		}
	}
	host_read_long(host->proc_fd, "sys/kernel/kptr_restrict", &restrict_level);
	check_set(c, CHECK_WARN,
		  restrict_level >= 2 ? "sysctl kernel.kptr_restrict=1, then grant CAP_SYSLOG"
				      : "run as root, or grant CAP_SYSLOG (ProtectKernelLogs=no)",
		  "kernel addresses read as 0 (kernel.kptr_restrict = %ld)", restrict_level);
}

static void check_debug_files(const struct host *host, struct check *c)
{
	char remedy[sizeof(c->remedy)];

	if (host->has_debuginfod) {
		check_set(c, CHECK_OK, NULL, "profd fetches them from debuginfod servers");
		return;
	}
	snprintf(remedy, sizeof(remedy),
		 "install their %s packages, or in profd.conf: [debuginfod] enabled = yes, "
		 "urls = %s",
		 host->debug_server->package, host->debug_server->url);
	check_set(c, CHECK_OK, remedy,
		  "functions of stripped programs are named by address, as gzip+0x4290");
}

static void check_lockdown(const struct host *host, struct check *c)
{
	char text[TEXT_SIZE];

	if (!host_read_text(host->sys_fd, "kernel/security/lockdown", text) ||
	    strstr(text, "[none]"))
		check_set(c, CHECK_OK, NULL, "the kernel is not locked down");
	else if (strstr(text, "[integrity]"))
		check_set(c, CHECK_OK, NULL,
			  "locked down for integrity, which does not affect profiling");
	else
		check_set(c, CHECK_BAD, "boot with lockdown=integrity, or run profd --source perf",
			  "locked down for confidentiality: BPF may not read the kernel");
}

/* The list of what filters can do is there where they are (Documentation/userspace-api). */
static void check_seccomp(const struct host *host, struct check *c)
{
	char text[TEXT_SIZE];

	if (host_read_text(host->proc_fd, "sys/kernel/seccomp/actions_avail", text))
		check_set(c, CHECK_OK, NULL, "helpers that read others' files are confined");
	else
		check_set(c, CHECK_BAD, "boot a kernel with CONFIG_SECCOMP_FILTER=y",
			  "no filters: no image worker starts, so there are no names and few "
			  "unwind rules; other helpers are not confined");
}

static bool is_cgroup2(const struct host *host, const char *path)
{
	cleanup(closep) int fd = openat(host->sys_fd, path, O_PATH | O_CLOEXEC);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

static void check_cgroups(const struct host *host, struct check *c)
{
	if (is_cgroup2(host, "fs/cgroup"))
		check_set(c, CHECK_OK, NULL, "version 2");
	else if (is_cgroup2(host, "fs/cgroup/unified"))
		check_set(c, CHECK_OK, NULL,
			  "hybrid: services are known; a cgroup is sampled by its pids");
	else
		check_set(c, CHECK_WARN,
			  "boot with systemd.unified_cgroup_hierarchy=1 for version 2",
			  "version 1, or none: a cgroup is sampled by its pids");
}

size_t host_checks(const struct host *host, struct check *ret)
{
	static const struct {
		const char *name;
		void (*run)(const struct host *host, struct check *c);
	} checks[] = {
		{"kernel", check_kernel},
		{"known faults", check_faults},
		{"BPF", check_bpf},
		{"waiting time", check_waits},
		{"PMU", check_pmu},
		{"lockdown", check_lockdown},
		{"capabilities", check_capabilities},
		{"pids", check_pids},
		{"seccomp", check_seccomp},
		{"perf paranoid", check_paranoid},
		{"profd --user", check_user},
		{"sample rate", check_sample_rate},
		{"locked memory", check_memlock},
		{"kernel symbols", check_kallsyms},
		{"debug files", check_debug_files},
		{"cgroups", check_cgroups},
	};

	_Static_assert(ARRAY_SIZE(checks) <= HOST_CHECKS_MAX, "room for all checks");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		ret[i] = (struct check){.name = checks[i].name};
		checks[i].run(host, &ret[i]);
	}
	return ARRAY_SIZE(checks);
}

/* --- the verb --------------------------------------------------------------------------------- */

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

/* What cannot be read, profd complains about. */
static bool config_has_debuginfod(void)
{
	cleanup(config_freep) struct config *config = NULL;
	struct config_message message;

	return !config_load(&config, NULL, NULL, &message) && config->debuginfod_enabled;
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
	cleanup(closep) int root_fd = -1;
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
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
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
		.debug_server = debug_server_of_host(root_fd),
		.has_debuginfod = config_has_debuginfod(),
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
