/* SPDX-License-Identifier: MIT */
/* Directories as the kubelet makes them, below the root of a process 1 that the test makes up. */
#include "daemon/resolve/container_files.h"

#include <poll.h>

#include "common/clock.h"
#include "daemon/resolve/proc_door.h"
#include "tests/support/temp_dir.h"

#define ID    "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define INNER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID   "a1b2c3d4-0102-4304-8506-0708090a0b0c"
#define PODS  "1/root/var/log/pods/"
#define LOGS  "1/root/var/log/containers/"

/* With the driver cgroupfs, which does not show whose it is. */
static const struct container_path web = {.id = ID, .pod = UID};

struct machine {
	struct temp_dir proc;
	struct proc_door *door;
	struct container_files *files;
	uint64_t now_ns;
};

static struct machine begin_machine_as(const char *host_name)
{
	struct machine m = {.now_ns = NS_PER_S};

	temp_dir_make(&m.proc);
	write_text(m.proc.fd, "1/root/etc/hostname", "node1\n");
	assert_int_equal(proc_door_new(&m.door, m.proc.fd), 0);
	assert_int_equal(container_files_new(&m.files, m.door, m.proc.fd, host_name, NULL), 0);
	return m;
}

static struct machine begin_machine(void)
{
	return begin_machine_as(NULL);
}

static void end(struct machine *m)
{
	container_files_free(m->files);
	proc_door_free(m->door);
	temp_dir_remove(&m->proc);
}

/* However slow the machine is. */
static int ask(struct machine *m, const struct container_path *path, struct container_names *ret)
{
	int r;

	do {
		*ret = (struct container_names){0};
		r = container_files_ask(m->files, path, m->now_ns, ret);
	} while (r == CONTAINERS_E_SLOW);
	return r;
}

/* A second later. */
static int look(struct machine *m, const struct container_path *path, struct container_names *ret)
{
	m->now_ns += NS_PER_S;
	return ask(m, path, ret);
}

static void test_a_pod(void **state)
{
	struct machine m = begin_machine();
	struct container_names names;

	(void)state;
	/* No such directories at all. */
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.pod, "");
	/* The kubelet makes this one before the container starts, */
	write_text(m.proc.fd, PODS "shop_web-6d4b75cb6d-x2x4z_" UID "/nginx/0.log", "");
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.namespace, "shop");
	assert_string_equal(names.pod, "web-6d4b75cb6d-x2x4z");
	assert_string_equal(names.service, "web");
	assert_string_equal(names.container, "");
	/* and this one afterwards. Nothing is known of where it leads. */
	write_text(m.proc.fd, LOGS "x", "");
	assert_int_equal(symlinkat("/etc/passwd", m.proc.fd,
				   LOGS "web-6d4b75cb6d-x2x4z_shop_nginx-" ID ".log"),
			 0);
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_ALL);
	assert_string_equal(names.container, "nginx");
	end(&m);
}

/* A static pod's name ends in the node's, which the kernel has another one for in a pod. */
#define STATIC_UID "0123456789abcdef0123456789abcdef"

static void test_a_static_pod(void **state)
{
	const struct container_path proxy = {.id = ID, .pod = STATIC_UID};
	struct machine m = begin_machine_as("node1.example.com");
	struct container_names names;

	(void)state;
	write_text(m.proc.fd, PODS "kube-system_proxy-node1.example.com_" STATIC_UID "/proxy/0.log",
		   "");
	assert_int_equal(look(&m, &proxy, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.service, "proxy");
	end(&m);
}

/* One reading is for all that are asked for at that time. */
static void test_one_reading(void **state)
{
	const struct container_path other = {.id = INNER, .pod = UID};
	struct machine m = begin_machine();
	struct container_names names;

	(void)state;
	write_text(m.proc.fd, PODS "shop_web-0_" UID "/nginx/0.log", "");
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	write_text(m.proc.fd, LOGS "web-0_shop_nginx-" INNER ".log", "");
	assert_int_equal(ask(&m, &other, &names), CONTAINERS_E_PARTLY);
	assert_int_equal(look(&m, &other, &names), CONTAINERS_E_ALL);
	end(&m);
}

static void test_hostile_entries(void **state)
{
	static const char *const entries[] = {
		PODS "shop_web-0_" UID "x/0.log",   PODS "shop_..\\web_" UID "/0.log",
		PODS "\nshop_web-0_" UID "/0.log",  PODS "shop_web\n-0_" UID "/0.log",
		PODS "shop_\x1b[31m_" UID "/0.log", PODS "shop_\xff\xfe_" UID "/0.log",
		PODS ".shop_web-0_" UID "/0.log",   LOGS "web-0_shop_\x01-" ID ".log",
		LOGS "web-0_shop_a\n-" ID ".log",   LOGS "..._shop_a-" ID ".log",
	};
	struct machine m = begin_machine();
	struct container_names names;
	const struct container_names none = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		write_text(m.proc.fd, entries[i], "");
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	assert_memory_equal(&names, &none, sizeof(none));
	end(&m);
}

/* Other things in place of the directories: each costs one wait at most, and has no names. */
static void test_other_kinds_of_files(void **state)
{
	struct machine m = begin_machine();
	struct container_names names;

	(void)state;
	write_text(m.proc.fd, "1/root/var/log/x", "");
	assert_int_equal(mkfifoat(m.proc.fd, "1/root/var/log/pods", 0600), 0);
	assert_int_equal(container_files_ask(m.files, &web, m.now_ns, &names), CONTAINERS_E_SLOW);
	assert_int_equal(unlinkat(m.proc.fd, "1/root/var/log/pods", 0), 0);
	assert_int_equal(symlinkat("pods", m.proc.fd, "1/root/var/log/pods"), 0);
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.pod, "");
	end(&m);
}

/* What is too long is cut after a line. */
static void test_long_listings(void **state)
{
	struct machine m = begin_machine();
	cleanup(freep) char *text = malloc(2 << 20);
	struct container_names names;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 2 << 20);
	write_file(m.proc.fd, "1/root/var/log/pods", text, 2 << 20);
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	memcpy(text, "\nshop_web-0_" UID "\n", strlen("\nshop_web-0_" UID "\n"));
	write_file(m.proc.fd, "1/root/var/log/pods", text, 2 << 20);
	assert_int_equal(look(&m, &web, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.pod, "web-0");
	end(&m);
}

/* --- files that the worker reads ----------------------------------------------------------------
 */

#define BUNDLE  "1/root/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define DOCKER  "1/root/var/lib/docker/containers/" ID "/config.v2.json"
#define STORAGE "1/root/var/lib/containers/storage/overlay-containers/containers.json"

static const struct container_path docker = {.runtime = CONTAINER_DOCKER, .id = ID};

/* The same, and waits for the answer. Where there is no worker for a while, nothing wakes us. */
static int await(struct machine *m, const struct container_path *path, struct container_names *ret)
{
	struct pollfd answer = {.fd = container_files_fd(m->files), .events = POLLIN};
	int r;

	for (unsigned n = 0; (r = look(m, path, ret)) == CONTAINERS_E_BUSY; n++) {
		assert_true(n < 40);
		assert_true(poll(&answer, 1, 1000) >= 0);
		assert_int_equal(container_files_receive(m->files), 0);
	}
	return r;
}

static void test_managers(void **state)
{
	const struct container_path podman = {.runtime = CONTAINER_PODMAN, .id = ID};
	const struct container_path crio = {.runtime = CONTAINER_CRIO, .id = INNER, .pod = UID};
	const struct container_path bundle = {.runtime = CONTAINER_CONTAINERD,
					      .id = ID,
					      .pod = UID};
	struct machine m = begin_machine();
	struct container_names names;

	(void)state;
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_PARTLY);
	write_text(m.proc.fd, DOCKER,
		   "{\"ID\":\"" ID "\",\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx:1\"}}");
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_ALL);
	assert_string_equal(names.service, "web");
	assert_string_equal(names.container, "web");
	assert_string_equal(names.image, "nginx:1");
	write_text(m.proc.fd, STORAGE,
		   "[{\"id\":\"" ID "\",\"names\":[\"db\"]},{\"id\":\"" INNER
		   "\",\"names\":[\"k8s_x\"],\"metadata\":\"{\\\"image-name\\\":\\\"y:2\\\"}\"}]");
	assert_int_equal(await(&m, &podman, &names), CONTAINERS_E_ALL);
	assert_string_equal(names.service, "db");
	assert_string_equal(names.image, "");
	/* A pod's container has its image from there, and its name from the kubelet. */
	write_text(m.proc.fd, PODS "shop_web-0_" UID "/a/0.log", "");
	write_text(m.proc.fd, LOGS "web-0_shop_a-" INNER ".log", "");
	write_text(m.proc.fd, LOGS "web-0_shop_b-" ID ".log", "");
	assert_int_equal(await(&m, &crio, &names), CONTAINERS_E_ALL);
	assert_string_equal(names.container, "a");
	assert_string_equal(names.image, "y:2");
	assert_string_equal(names.service, "web");
	assert_int_equal(await(&m, &bundle, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.container, "b");
	write_text(m.proc.fd, BUNDLE,
		   "{\"annotations\":{\"io.kubernetes.cri.image-name\":\"z:3\"}}");
	assert_int_equal(await(&m, &bundle, &names), CONTAINERS_E_ALL);
	assert_string_equal(names.image, "z:3");
	/* Where nobody asks, nothing wakes us any more. */
	assert_int_equal(poll(&(struct pollfd){.fd = container_files_fd(m.files), .events = POLLIN},
			      1, 0),
			 0);
	end(&m);
}

/* What a file says of it is no name of another service, nor harmful to print. */
static void test_hostile_contents(void **state)
{
	static const struct {
		const char *text, *container, *service;
		int answer;
	} cases[] = {
		{"\\u001b[31m\\u0000x", "\xef\xbf\xbd[31m", "", CONTAINERS_E_ALL},
		{"sshd.service", "sshd.service", "", CONTAINERS_E_ALL},
		{"../../etc", "../../etc", "", CONTAINERS_E_ALL},
		{"a b", "a b", "", CONTAINERS_E_ALL},
		{"-rf", "-rf", "", CONTAINERS_E_ALL},
		{"a\"", "", "", CONTAINERS_E_PARTLY},
	};
	struct machine m = begin_machine();
	struct container_names names;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "{\"ID\":\"" ID "\",\"Name\":\"/%s\"}", cases[i].text);
		write_text(m.proc.fd, DOCKER, text);
		assert_int_equal(await(&m, &docker, &names), cases[i].answer);
		assert_string_equal(names.container, cases[i].container);
		assert_string_equal(names.service, cases[i].service);
	}
	end(&m);
}

/* None of them is opened as if it were a file, and nothing outside is. */
static void test_no_files(void **state)
{
	struct machine m = begin_machine();
	struct container_names names;

	(void)state;
	write_text(m.proc.fd, DOCKER, "");
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_PARTLY);
	assert_int_equal(unlinkat(m.proc.fd, DOCKER, 0), 0);
	assert_int_equal(mkfifoat(m.proc.fd, DOCKER, 0600), 0);
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_PARTLY);
	assert_int_equal(unlinkat(m.proc.fd, DOCKER, 0), 0);
	assert_int_equal(mkdirat(m.proc.fd, DOCKER, 0755), 0);
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_PARTLY);
	assert_int_equal(unlinkat(m.proc.fd, DOCKER, AT_REMOVEDIR), 0);
	/* Below the root, /x is not ours: there is none. */
	write_text(m.proc.fd, "x", "{\"ID\":\"" ID "\",\"Name\":\"/web\"}");
	assert_int_equal(symlinkat("../../../../../../../x", m.proc.fd, DOCKER), 0);
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_PARTLY);
	assert_string_equal(names.container, "");
	write_text(m.proc.fd, "1/root/x", "{\"ID\":\"" ID "\",\"Name\":\"/web\"}");
	assert_int_equal(await(&m, &docker, &names), CONTAINERS_E_ALL);
	end(&m);
}

/* Answers wait for those who asked, in whatever order these come again. */
static void test_many_questions(void **state)
{
	enum { N = 40 };
	struct machine m = begin_machine();
	struct container_path paths[N];
	struct container_names names;
	char text[512], json[256], id[CONTAINER_ID_SIZE];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		paths[i] = docker;
		memcpy(paths[i].id, id, sizeof(id));
		snprintf(text, sizeof(text), "1/root/var/lib/docker/containers/%s/config.v2.json",
			 id);
		snprintf(json, sizeof(json), "{\"ID\":\"%s\",\"Name\":\"/n%u\"}", id, i);
		write_text(m.proc.fd, text, json);
	}
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(look(&m, &paths[i], &names), CONTAINERS_E_BUSY);
	for (unsigned i = N; i-- > 0;) {
		m.now_ns = NS_PER_S; /* no answer gets old */
		assert_int_equal(await(&m, &paths[i], &names), CONTAINERS_E_ALL);
		snprintf(text, sizeof(text), "n%u", i);
		assert_string_equal(names.service, text);
	}
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pod),
		cmocka_unit_test(test_a_static_pod),
		cmocka_unit_test(test_one_reading),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_other_kinds_of_files),
		cmocka_unit_test(test_long_listings),
		cmocka_unit_test(test_managers),
		cmocka_unit_test(test_hostile_contents),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_many_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
