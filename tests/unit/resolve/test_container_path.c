/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/container_path.h"

#define ID      "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define INNER   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID     "a1b2c3d4-0102-4304-8506-0708090a0b0c"
#define UID_    "a1b2c3d4_0102_4304_8506_0708090a0b0c"
#define STATIC  "0123456789abcdef0123456789abcdef"
#define MACHINE "m123456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *path;
	enum container_runtime runtime;
	const char *id, *pod, *machine;
} containers[] = {
	/* kubelet, with either cgroup driver, in the three classes of service */
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 CONTAINER_CONTAINERD, ID, UID, ""},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 CONTAINER_CONTAINERD, ID, UID, ""},
	{"/kubepods/burstable/pod" UID "/" ID, CONTAINER_OTHER, ID, UID, ""},
	{"/kubepods/pod" UID "/" ID, CONTAINER_OTHER, ID, UID, ""},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 CONTAINER_CONTAINERD, ID, UID, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
	 ".slice/cri-containerd-" ID ".scope",
	 CONTAINER_CONTAINERD, ID, STATIC, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
	 ".scope",
	 CONTAINER_CRIO, ID, UID, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
	 ".scope/container",
	 CONTAINER_CRIO, ID, UID, ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/docker-" ID
	 ".scope",
	 CONTAINER_DOCKER, ID, UID, ""},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 CONTAINER_CONTAINERD, ID, UID, ""},
	/* A pod's own group */
	{"/kubepods/burstable/pod" UID, CONTAINER_OTHER, "", UID, ""},
	/* Other managers */
	{"/system.slice/docker-" ID ".scope", CONTAINER_DOCKER, ID, "", ""},
	{"/docker/" ID, CONTAINER_DOCKER, ID, "", ""},
	{"/docker/" ID "/system.slice/nginx.service", CONTAINER_DOCKER, ID, "", ""},
	{"/machine.slice/libpod-" ID ".scope/container", CONTAINER_PODMAN, ID, "", ""},
	{"/libpod_parent/libpod-" ID, CONTAINER_PODMAN, ID, "", ""},
	{"/system.slice/nerdctl-" ID ".scope", CONTAINER_CONTAINERD, ID, "", ""},
	{"/x/" ID, CONTAINER_OTHER, ID, "", ""},
	{"/lxc.payload.web/system.slice/nginx.service", CONTAINER_LXC, "", "", "web"},
	{"/lxc.payload/web_1", CONTAINER_LXC, "", "", "web_1"},
	{"/lxc/101/ns/init.scope", CONTAINER_LXC, "", "", "101"},
	{"/machine.slice/machine-web.scope/payload/system.slice/nginx.service", CONTAINER_MACHINE,
	 "", "", "web"},
	{"/machine.slice/machine-a\\x2db.example.scope", CONTAINER_MACHINE, "", "", "a-b.example"},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator", CONTAINER_MACHINE, "",
	 "", "qemu-1-vm"},
	{"/machine.slice/systemd-nspawn@web.service/payload", CONTAINER_MACHINE, "", "", "web"},
	{"/machine.slice/machine-" MACHINE ".scope", CONTAINER_MACHINE, "", "", MACHINE},
	/* What is in a container is named by it. */
	{"/system.slice/docker-" ID ".scope/kubepods/pod" UID "/" INNER, CONTAINER_DOCKER, ID, "",
	 ""},
	{"/lxc.payload.web/docker/" INNER, CONTAINER_LXC, "", "", "web"},
	/* From within another pod's group */
	{"/../../pod" UID "/" ID, CONTAINER_OTHER, ID, UID, ""},
	{"/../kubepods-pod" UID_ ".slice/crio-" ID ".scope", CONTAINER_CRIO, ID, UID, ""},
	/* No UIDs */
	{"/kubepods/podx" UID "/" ID, CONTAINER_OTHER, ID, "", ""},
	{"/kubepods/pod" UID "0/" ID, CONTAINER_OTHER, ID, "", ""},
	{"/kubepods/pod" STATIC "0/" ID, CONTAINER_OTHER, ID, "", ""},
	{"/kubepods/podA1b2c3d4-0102-4304-8506-0708090a0b0c/" ID, CONTAINER_OTHER, ID, "", ""},
};

static void test_containers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct container_path p;

		if (!container_path_parse(containers[i].path, &p))
			fail_msg("none: %s", containers[i].path);
		if (p.runtime != containers[i].runtime || strcmp(p.id, containers[i].id) ||
		    strcmp(p.pod, containers[i].pod) || strcmp(p.machine, containers[i].machine))
			fail_msg("%s: %d %s %s %s", containers[i].path, p.runtime, p.id, p.pod,
				 p.machine);
	}
}

static void test_no_containers(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/system.slice/nginx.service",
		"/machine.slice/libpod-conmon-" ID ".scope",
		"/kubepods.slice/crio-conmon-" ID ".scope",
		"/system.slice/docker-" ID "0.scope",
		"/system.slice/docker" ID ".scope",
		"/lxc.monitor.web",
		"/lxc.payload.",
		"/lxc",
		"/lxc/.web",
		"/machine.slice/machine-.scope",
		"/machine.slice/machine-a b.scope",
		"/machine.slice/machine-\\x2fetc.scope",
		"/machine.slice/machine-\\x2.scope",
		"/machine.slice/machine-\\x00.scope",
		"/machine.slice/machine-a\\x0ab.scope",
		"/machine.slice/machine-0" MACHINE ".scope",
		"/lxc.payload/../etc",
		/* A user names groups of his own as he likes. */
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		"/user.slice/user-1000.slice/user@1000.service/kubepods/pod" UID "/" ID,
		"/user.slice/user-1000.slice/session-2.scope/lxc.payload.web",
		("/user@1000.service/docker/" ID),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct container_path p;

		if (container_path_parse(paths[i], &p))
			fail_msg("%s: %s %s %s", paths[i], p.id, p.pod, p.machine);
	}
}

/* Cut anywhere, a path is never read past its end, which the sanitizers watch. */
static void test_lengths(void **state)
{
	static char path[8192];
	struct container_path p;

	(void)state;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
		for (size_t n = 0; n < strlen(containers[i].path); n++) {
			char *cut = strndup(containers[i].path, n);

			assert_non_null(cut);
			container_path_parse(cut, &p);
			free(cut);
		}
	memset(path, 'a', sizeof(path) - 1);
	assert_false(container_path_parse(path, &p));
	memcpy(path, "/lxc.payload.", 13);
	assert_false(container_path_parse(path, &p));
	for (size_t i = 0; i + 4 < sizeof(path); i += 4)
		memcpy(path + i, "/pod", 4);
	memcpy(path, "/kubepods", 9);
	assert_false(container_path_parse(path, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_no_containers),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
