/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/unit.h"

#define ID    "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define INNER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct expectation {
	const char *text;
	uid_t uid;
	const char *service, *cgroup, *container;
} expectations[] = {
	/* v2 */
	{"0::/system.slice/nginx.service\n", 33, "nginx.service", "/system.slice/nginx.service",
	 ""},
	{"0::/init.scope\n", 0, "init.scope", "/init.scope", ""},
	{"0::/system.slice/system-getty.slice/getty@tty1.service\n", 0, "getty@tty1.service",
	 "/system.slice/system-getty.slice/getty@tty1.service", ""},
	{"0::/a.slice/a-b.slice/a-b-c.slice/deep.service\n", 0, "deep.service",
	 "/a.slice/a-b.slice/a-b-c.slice/deep.service", ""},
	{"0::/system.slice/foo.service (deleted)\n", 0, "foo.service", "/system.slice/foo.service",
	 ""},
	{"0::/system.slice/dbus.socket\n", 0, "dbus.socket", "/system.slice/dbus.socket", ""},
	{"0::/system.slice/run-user-0.mount\n", 0, "run-user-0.mount",
	 "/system.slice/run-user-0.mount", ""},
	{"0::/system.slice/a\\x2db.service\n", 0, "a\\x2db.service",
	 "/system.slice/a\\x2db.service", ""},
	{"0::/system.slice/_cpu.service\n", 0, "cpu.service", "/system.slice/_cpu.service", ""},
	/* What a service makes below itself is its own business. */
	{"0::/system.slice/foo.service/worker.service/x\n", 0, "foo.service",
	 "/system.slice/foo.service/worker.service/x", ""},
	/* Users */
	{"0::/user.slice/user-1000.slice/session-2.scope\n", 0, "user-1000",
	 "/user.slice/user-1000.slice/session-2.scope", ""},
	{"0::/user.slice/user-0.slice/session-c1.scope\n", 1000, "user-0",
	 "/user.slice/user-0.slice/session-c1.scope", ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope\n", 1000,
	 "user@1000.service",
	 "/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope", ""},
	{"0::/user.slice/user-1001.slice\n", 0, "user-1001", "/user.slice/user-1001.slice", ""},
	{"0::/user.slice/user-0.slice\n", 0, "user-0", "/user.slice/user-0.slice", ""},
	{"0::/session-9.scope\n", 7, "user-7", "/session-9.scope", ""},
	{"0::/user.slice/user-x.slice\n", 5, "other", "/user.slice/user-x.slice", ""},
	{"0::/user-99999999999.slice\n", 5, "other", "/user-99999999999.slice", ""},
	{"0::/user-.slice\n", 5, "other", "/user-.slice", ""},
	/* Transient units */
	{"0::/system.slice/run-rf00d.scope\n", 0, "transient", "/system.slice/run-rf00d.scope", ""},
	{"0::/system.slice/run-u17.service\n", 0, "transient", "/system.slice/run-u17.service", ""},
	{"0::/system.slice/runner.service\n", 0, "runner.service", "/system.slice/runner.service",
	 ""},
	/* No unit */
	{"0::/\n", 0, "other", "/", ""},
	{"0::/\n", 999, "other", "/", ""},
	{"0::/\n", 1000, "user-1000", "/", ""},
	{"", 1000, "user-1000", "", ""},
	{"", 0, "other", "", ""},
	{"0::/.service\n", 0, "other", "/.service", ""},
	{"0::/a b.service\n", 0, "other", "/a b.service", ""},
	{"0::/system.slice\n", 0, "other", "/system.slice", ""},
	{"garbage\n0:\n::\n1:x:relative.service\n\n", 0, "other", "", ""},
	/* Containers */
	{"0::/system.slice/docker-" ID ".scope\n", 0, "docker-" ID ".scope",
	 "/system.slice/docker-" ID ".scope", ID},
	{"0::/machine.slice/libpod-" ID ".scope/container\n", 0, "libpod-" ID ".scope",
	 "/machine.slice/libpod-" ID ".scope/container", ID},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n", 0, "libpod-conmon-" ID ".scope",
	 "/machine.slice/libpod-conmon-" ID ".scope", ""},
	{"0::/kubepods.slice/kubepods-pod12.slice/cri-containerd-" ID ".scope\n", 0,
	 "cri-containerd-" ID ".scope",
	 "/kubepods.slice/kubepods-pod12.slice/cri-containerd-" ID ".scope", ID},
	{"0::/kubepods.slice/crio-" ID ".scope\n", 0, "crio-" ID ".scope",
	 "/kubepods.slice/crio-" ID ".scope", ID},
	{"0::/docker/" ID "\n", 0, "other", "/docker/" ID, ID},
	{"0::/docker/" ID "\n", 1000, "user-1000", "/docker/" ID, ID},
	{"0::/docker/" ID "/kubepods/pod1/" INNER "\n", 0, "other",
	 "/docker/" ID "/kubepods/pod1/" INNER, INNER},
	{"0::/system.slice/containerd.service/kubepods-pod1:cri-containerd:" ID "\n", 0,
	 "containerd.service", "/system.slice/containerd.service/kubepods-pod1:cri-containerd:" ID,
	 ID},
	/* Neither 63 nor 65 digits, nor other letters, make an id. */
	{"0::/x/a" ID "\n", 0, "other", "/x/a" ID, ""},
	{"0::/x/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", 0, "other",
	 "/x/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ""},
	/* A machine within another one's group: the first unit is the one the system manager knows.
	 */
	{"0::/outer/system.slice/cron.service\n", 0, "cron.service",
	 "/outer/system.slice/cron.service", ""},
	{"0::/machine.slice/machine-web.scope/payload/system.slice/nginx.service\n", 0,
	 "machine-web.scope", "/machine.slice/machine-web.scope/payload/system.slice/nginx.service",
	 ""},
	{"0::/../../system.slice/cron.service\n", 0, "cron.service",
	 "/../../system.slice/cron.service", ""},
	/* v1 and hybrid */
	{"12:cpu,cpuacct:/\n11:pids:/system.slice/ssh.service\n1:name=systemd:/system.slice/"
	 "ssh.service\n",
	 0, "ssh.service", "/system.slice/ssh.service", ""},
	{"1:name=systemd:/user.slice/user-1000.slice/session-1.scope\n0::/user.slice/"
	 "user-1000.slice/"
	 "session-1.scope\n",
	 1000, "user-1000", "/user.slice/user-1000.slice/session-1.scope", ""},
	{"4:memory:/wrong.service\n0::/second.service\n1:name=systemd:/first.service\n", 0,
	 "first.service", "/first.service", ""},
	{"1:name=systemd:/\n0::/second.service\n", 0, "second.service", "/second.service", ""},
	{"4:memory:/docker/" ID "\n1:name=systemd:/docker/" ID
	 "\n0::/system.slice/docker.service\n",
	 0, "docker.service", "/system.slice/docker.service", ID},
	{"9:name=systemd:/\n4:memory:/jobs/17\n0::/\n", 0, "other", "/jobs/17", ""},
	{"3:name=other:/x.service", 0, "x.service", "/x.service", ""},
	{"1:name=systemd:/a:b.service\n", 0, "a:b.service", "/a:b.service", ""},
};

static void test_expectations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++) {
		const struct expectation *e = &expectations[i];
		struct unit unit;

		unit_parse(e->text, strlen(e->text), e->uid, &unit);
		if (strcmp(unit.service, e->service) || strcmp(unit.cgroup, e->cgroup) ||
		    strcmp(unit.container, e->container))
			print_error("%s", e->text);
		assert_string_equal(unit.service, e->service);
		assert_string_equal(unit.cgroup, e->cgroup);
		assert_string_equal(unit.container, e->container);
	}
}

/* What the group of version 2 tells by itself holds for all in it. */
static void test_what_groups_tell(void **state)
{
	static const struct {
		const char *text;
		bool is_of_group;
	} cases[] = {
		{"0::/system.slice/a.service\n", true},
		{"1:name=systemd:/a.service\n0::/a.service\n", true},
		{"1:name=systemd:/a.service\n0::/b.service\n", false},
		{"1:name=systemd:/a.service\n0::/\n", false},
		{"1:name=systemd:/a.service\n", false},
		{"0::/user.slice/user-1000.slice/session-1.scope\n", true},
		{"0::/session-1.scope\n", false},
		{"0::/user.slice/user-1000.slice\n", true},
		{"0::/plain\n", false},
		{"0::/\n", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unit unit;

		unit_parse(cases[i].text, strlen(cases[i].text), 1000, &unit);
		assert_int_equal(unit.is_of_group, cases[i].is_of_group);
	}
}

static void test_lengths(void **state)
{
	static char text[20000];
	struct unit unit;
	size_t n;

	(void)state;
	/* The longest unit name, and one more. */
	memset(text, 'a', sizeof(text));
	memcpy(text, "0::/", 4);
	memcpy(text + 4 + 255 - 8, ".service", 8);
	unit_parse(text, 4 + 255, 0, &unit);
	assert_int_equal(strlen(unit.service), 255);
	memset(text + 4, 'a', 300);
	memcpy(text + 4 + 256 - 8, ".service", 8);
	unit_parse(text, 4 + 256, 0, &unit);
	assert_string_equal(unit.service, "other");
	/* A path longer than any is cut. */
	unit_parse(text, sizeof(text), 0, &unit);
	assert_int_equal(strlen(unit.cgroup), UNIT_CGROUP_SIZE - 1);
	/* Cut at each byte: never a read past the end (the sanitizers watch). */
	n = strlen(expectations[0].text);
	for (size_t i = 0; i <= n; i++) {
		char *copy = malloc(i ? i : 1);

		assert_non_null(copy);
		memcpy(copy, expectations[0].text, i);
		unit_parse(copy, i, 0, &unit);
		assert_true(unit.service[0]);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expectations),
		cmocka_unit_test(test_what_groups_tell),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
