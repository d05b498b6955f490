/* SPDX-License-Identifier: MIT */
/* The doctor's checks on hosts that the test makes up: a directory each for /proc and /sys. */
#include "client/profctl/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "client/symbolize/debug_server.h"
#include "common/bpf_features.h"
#include "common/cleanup.h"
#include "tests/support/temp_dir.h"

struct world {
	struct temp_dir dir;
	struct host host;
	struct check checks[HOST_CHECKS_MAX];
	size_t n;
};

/* Of a kernel's names, those that matter. */
#define BTF_SAMPLES                                               \
	"\0BPF_MAP_TYPE_RINGBUF\0BPF_FUNC_get_current_task_btf\0" \
	"BPF_FUNC_get_attach_cookie\0BPF_FUNC_task_pt_regs\0BPF_FUNC_loop"
static const char btf[] = "\0btf_trace_sched_switch\0btf_trace_" BPF_FEATURES_INTERRUPT
			  "\0last_queued\0runnable_weight" BTF_SAMPLES;

/* A host on which all is well. */
static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	write_text(w->dir.fd, "self/status",
		   "Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n");
	write_text(w->dir.fd, "sys/kernel/perf_event_paranoid", "2\n");
	write_text(w->dir.fd, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	write_text(w->dir.fd, "sys/kernel/seccomp/actions_avail", "kill_process allow\n");
	write_text(w->dir.fd, "kallsyms", "0000000000000000 A a\nffffffff81000000 T _stext\n");
	write_file(w->dir.fd, "kernel/btf/vmlinux", btf, sizeof(btf));
	w->host = (struct host){.proc_fd = w->dir.fd,
				.sys_fd = w->dir.fd,
				.release = "6.12.5",
				.version = "#1 SMP",
				.machine = "x86_64",
				.memlock_bytes = UINT64_MAX,
				.debug_server = debug_server_by_release("ID=debian\n")};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

static const struct check *check(struct world *w, const char *name)
{
	w->n = host_checks(&w->host, w->checks);
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->checks[i].name, name) == 0)
			return &w->checks[i];
	fail_msg("there is no check %s", name);
	return NULL;
}

static void expect(struct world *w, const char *name, enum check_level level, const char *part)
{
	const struct check *c = check(w, name);

	if (c->level != level || (!strstr(c->finding, part) && !strstr(c->remedy, part)))
		fail_msg("%s: level %d, '%s', '%s'", name, (int)c->level, c->finding, c->remedy);
	/* What is not well has a remedy. */
	if (c->level != CHECK_OK)
		assert_string_not_equal(c->remedy, "");
}

static void test_all_well(void **state)
{
	struct world *w = *state;

	check(w, "kernel");
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->checks[i].name, "cgroups") != 0)
			assert_int_equal(w->checks[i].level, CHECK_OK);
}

/* A file's inode is no namespace's. */
static void test_pids(void **state)
{
	struct world *w = *state;

	expect(w, "pids", CHECK_OK, "the host's");
	write_text(w->dir.fd, "self/ns/pid", "");
	expect(w, "pids", CHECK_WARN, "--pid=host");
	write_text(w->dir.fd, "self/status", "Tgid:\t700\nNSpid:\t700\t7\n");
	expect(w, "pids", CHECK_BAD, "mount -t proc");
	/* That of a namespace that the caller is not in. */
	assert_int_equal(unlinkat(w->dir.fd, "self/status", 0), 0);
	expect(w, "pids", CHECK_BAD, "mount -t proc");
}

static void test_kernel_versions(void **state)
{
	(void)state;
	assert_int_equal(kernel_version("6.18.44-x", "#1 SMP", NULL), 6018044);
	assert_int_equal(kernel_version("6.1.0-18-amd64",
					"#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)",
					NULL),
			 6001076);
	assert_int_equal(kernel_version("5.15.0-91-generic", "#101-Ubuntu SMP",
					"Ubuntu 5.15.0-91.101-generic 5.15.131"),
			 5015131);
	assert_int_equal(kernel_version("7.0-rc1", "", NULL), 7000000);
	assert_int_equal(kernel_version("unknown", "", NULL), 0);
}

static void test_faults(void **state)
{
	static const struct {
		const char *release;
		enum check_level level;
		const char *part;
	} cases[] = {
		{"5.18.19", CHECK_OK, "no known fault"}, {"5.19.0", CHECK_BAD, "lock up"},
		{"6.0.19", CHECK_BAD, "lock up"},        {"6.1.35", CHECK_BAD, "lock up"},
		{"6.1.36", CHECK_OK, "no known fault"},  {"6.2.16", CHECK_BAD, "lock up"},
		{"6.3.9", CHECK_BAD, "lock up"},         {"6.3.10", CHECK_OK, "no known fault"},
		{"6.4.0", CHECK_OK, "no known fault"},   {"6.14.9", CHECK_OK, "no known fault"},
		{"6.15.0", CHECK_OK, "no known fault"},  {"6.16.0", CHECK_OK, "no known fault"},
		{"6.17.13", CHECK_OK, "no known fault"}, {"6.18.0", CHECK_OK, "no known fault"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->host.release = cases[i].release;
		expect(w, "known faults", cases[i].level, cases[i].part);
	}
	/* Debian's release says 6.1.0, its source is newer and has the fix. */
	w->host.release = "6.1.0-18-amd64";
	w->host.version = "#1 SMP Debian 6.1.76-1 (2024-02-01)";
	expect(w, "known faults", CHECK_OK, "no known fault");
	w->host.version = "#1 SMP Debian 6.1.27-1 (2023-05-08)";
	expect(w, "known faults", CHECK_BAD, "lock up");
	w->host.release = "custom";
	w->host.version = "";
	expect(w, "kernel", CHECK_WARN, "unknown version");
}

/* What a kernel has counts, whatever its version is: RHEL 9's has BPF of later ones. */
static void test_bpf(void **state)
{
	struct world *w = *state;

	w->host.release = "5.14.0-503.11.1.el9_5.x86_64";
	expect(w, "BPF", CHECK_OK, "all features");
	expect(w, "kernel", CHECK_OK, "5.14.0");
	w->host.release = "6.12.5";
	write_file(w->dir.fd, "kernel/btf/vmlinux", btf, sizeof(btf) - sizeof("BPF_FUNC_loop"));
	expect(w, "BPF", CHECK_WARN, "lacks bpf_loop (5.17)");
	unlinkat(w->dir.fd, "kernel/btf/vmlinux", 0);
	expect(w, "BPF", CHECK_WARN, "CONFIG_DEBUG_INFO_BTF");
}

static void test_waits(void **state)
{
	static const char without[] =
		"\0btf_trace_sched_switch\0last_queued\0runnable_weight" BTF_SAMPLES;
	struct world *w = *state;

	expect(w, "waiting time", CHECK_OK, "stacks by " BPF_FEATURES_INTERRUPT);
	write_file(w->dir.fd, "kernel/btf/vmlinux", without, sizeof(without));
	expect(w, "waiting time", CHECK_WARN, "lacks the tracepoint " BPF_FEATURES_INTERRUPT);
	/* 5.10 has the tracepoints, but profd's programs do not run there. */
	write_file(w->dir.fd, "kernel/btf/vmlinux", btf, sizeof(btf) - sizeof("BPF_FUNC_loop"));
	expect(w, "waiting time", CHECK_WARN, "lacks bpf_loop");
	unlinkat(w->dir.fd, "kernel/btf/vmlinux", 0);
	expect(w, "waiting time", CHECK_WARN, "lacks BTF");
}

static void test_debug_files(void **state)
{
	static const struct {
		const char *release, *remedy;
	} cases[] = {
		{"NAME=\"x\"\nID=debian\n", "-dbgsym packages"},
		{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n",
		 "urls = https://debuginfod.ubuntu.com"},
		{"ID_LIKE=debian\nID='fedora'", "-debuginfo packages"},
		{"ID=opensuse-leap\nID_LIKE=\"suse opensuse\"", "debuginfod.opensuse.org"},
		{"VERSION_ID=arch\n\nX", "https://debuginfod.elfutils.org"},
		{"", "https://debuginfod.elfutils.org"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->host.debug_server = debug_server_by_release(cases[i].release);
		expect(w, "debug files", CHECK_OK, cases[i].remedy);
	}
	w->host.has_debuginfod = true;
	expect(w, "debug files", CHECK_OK, "profd fetches them");
}

static void test_what_is_missing(void **state)
{
	struct world *w = *state;

	write_text(w->dir.fd, "sys/kernel/perf_event_paranoid", "3\n");
	expect(w, "perf paranoid", CHECK_OK, "CAP_SYS_ADMIN");
	expect(w, "profd --user", CHECK_WARN, "only programs with libprofd");
	write_text(w->dir.fd, "sys/kernel/perf_event_paranoid", "2\n");
	expect(w, "profd --user", CHECK_OK, "in user mode");
	write_text(w->dir.fd, "sys/kernel/perf_event_paranoid", "-1\n");
	expect(w, "profd --user", CHECK_OK, "on their behalf");
	write_text(w->dir.fd, "sys/kernel/perf_event_max_sample_rate", "250\n");
	expect(w, "sample rate", CHECK_WARN, "100000");
	w->host.pmu_error = ENOENT;
	expect(w, "PMU", CHECK_WARN, "cpu-clock");
	w->host.pmu_error = EACCES;
	expect(w, "PMU", CHECK_WARN, "as root");
	write_text(w->dir.fd, "kernel/security/lockdown", "none [integrity] confidentiality\n");
	expect(w, "lockdown", CHECK_OK, "integrity");
	write_text(w->dir.fd, "kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect(w, "lockdown", CHECK_BAD, "boot with");
	write_text(w->dir.fd, "kallsyms", "0000000000000000 A a\n0000000000000000 T b\n");
	expect(w, "kernel symbols", CHECK_WARN, "CAP_SYSLOG");
	write_text(w->dir.fd, "sys/kernel/kptr_restrict", "2\n");
	expect(w, "kernel symbols", CHECK_WARN, "kptr_restrict=1");
	write_text(w->dir.fd, "kallsyms", "");
	expect(w, "kernel symbols", CHECK_WARN, "ProtectKernelTunables");
}

static void test_capabilities(void **state)
{
	struct world *w = *state;

	/* All but CAP_BPF (39) and CAP_PERFMON (38). */
	write_text(w->dir.fd, "self/status",
		   "x\nCapEff:\t0000013fffffffff\nCapBnd:\t0000013fffffffff\n");
	expect(w, "capabilities", CHECK_BAD, "not in the bounding set here: CAP_BPF CAP_PERFMON");
	write_text(w->dir.fd, "self/status",
		   "x\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n");
	expect(w, "capabilities", CHECK_OK, "systemd can grant them");
	w->host.memlock_bytes = 64 << 10;
	expect(w, "locked memory", CHECK_WARN, "LimitMEMLOCK");
	w->host.memlock_bytes = 8 << 20;
	expect(w, "locked memory", CHECK_OK, "8.0 MiB");
	assert_int_equal(unlinkat(w->dir.fd, "sys/kernel/seccomp/actions_avail", 0), 0);
	expect(w, "seccomp", CHECK_BAD, "CONFIG_SECCOMP_FILTER");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_well),     TEST(test_kernel_versions), TEST(test_faults),
		TEST(test_bpf),          TEST(test_waits),           TEST(test_what_is_missing),
		TEST(test_capabilities), TEST(test_debug_files),     TEST(test_pids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
