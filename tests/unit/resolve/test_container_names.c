/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "daemon/resolve/container_names.h"

#define ID     "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define INNER  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID    "a1b2c3d4-0102-4304-8506-0708090a0b0c"
#define STATIC "0123456789abcdef0123456789abcdef"

static const struct container_path in_pod = {.id = ID, .pod = UID};

static struct span text(const char *s)
{
	return (struct span){s, strlen(s)};
}

static struct container_names look(const char *pods, const char *logs)
{
	struct container_names names = {0};

	container_names_of_pod(&in_pod, text(pods), text(logs), "node1", &names);
	return names;
}

static void assert_names(struct container_names names, const char *namespace, const char *pod,
			 const char *container, const char *service)
{
	assert_string_equal(names.namespace, namespace);
	assert_string_equal(names.pod, pod);
	assert_string_equal(names.container, container);
	assert_string_equal(names.service, service);
}

#define PODS                                                                          \
	"kube-system_coredns-5d78c9869d-abcde_11111111-0102-4304-8506-0708090a0b0c\n" \
	"shop_web-6d4b75cb6d-x2x4z_" UID "\n"
#define LOGS                                                \
	"web-6d4b75cb6d-x2x4z_shop_sidecar-" INNER ".log\n" \
	"web-6d4b75cb6d-x2x4z_shop_nginx-a-" ID ".log\n"

static void test_directories(void **state)
{
	(void)state;
	assert_names(look(PODS, LOGS), "shop", "web-6d4b75cb6d-x2x4z", "nginx-a", "web");
	/* The link comes later. */
	assert_names(look(PODS, ""), "shop", "web-6d4b75cb6d-x2x4z", "", "web");
	assert_names(look("", LOGS), "shop", "web-6d4b75cb6d-x2x4z", "nginx-a", "web");
	assert_names(look("", ""), "", "", "", "");
	/* They do not agree. */
	assert_names(look(PODS, "web-6d4b75cb6d-x2x4z_other_nginx-" ID ".log\n"), "shop",
		     "web-6d4b75cb6d-x2x4z", "", "web");
	/* Twice */
	assert_names(look(PODS "bank_web-0_" UID "\n", ""), "", "", "", "");
}

static void test_hostile_entries(void **state)
{
	static const char *const pods[] = {
		"_" UID,
		"__" UID,
		"shop_" UID,
		"shop__" UID,
		"_web_" UID,
		"shop_web" UID,
		"shop_../../etc/passwd_" UID,
		"shop_we b_" UID,
		"shop_web\x01_" UID,
		"shop_web\xff_" UID,
		"SHOP_web_" UID,
		"shop_-web_" UID,
		"shop_.._" UID,
		"shop_a_b_" UID,
		UID,
	};
	char name[4200];

	(void)state;
	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++)
		assert_names(look(pods[i], ""), "", "", "", "");
	memset(name, 'a', sizeof(name));
	memcpy(name, "shop_", 5);
	snprintf(name + 4096, sizeof(name) - 4096, "_%s", UID);
	assert_names(look(name, ""), "", "", "", "");
	assert_names(look("", "web_shop_../../x-" ID ".log"), "", "", "", "");
	assert_names(look("", "web_shop_-" ID ".log"), "", "", "", "");
	assert_names(look("", "web_shop-" ID ".log"), "", "", "", "");
	assert_names(look("", "-" ID ".log"), "", "", "", "");
}

static void test_owners(void **state)
{
	static const struct {
		const char *pod, *service;
	} cases[] = {
		{"web-6d4b75cb6d-x2x4z", "web"},
		{"front-end-75cb6d-x2x4z", "front-end"},
		{"a.b-6d4b75cb6d-x2x4z", "a.b"},
		{"backup-28312345-x2x4z", "backup"},
		{"node-exporter-x2x4z", "node-exporter"},
		{"redis-0", "redis"},
		{"redis-12", "redis"},
		/* No such parts: the pod's own name */
		{"redis", "redis"},
		{"redis-007", "redis-007"},
		{"redis-1234567890", "redis-1234567890"},
		{"web-server", "web-server"},
		{"web-x2x4", "web-x2x4"},
		{"web-x2a4z", "web-x2a4z"},
		{"-x2x4z", ""},
		/* One part that is no hash is the owner's. */
		{"web-proxy-x2x4z", "web-proxy"},
		{"web-12345-x2x4z", "web-12345"},
		{"6d4b75cb6d-x2x4z", "6d4b75cb6d"},
	};
	char entry[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(entry, sizeof(entry), "shop_%s_%s\n", cases[i].pod, UID);
		assert_string_equal(look(entry, "").service, cases[i].service);
	}
}

static void test_static_pods(void **state)
{
	const struct container_path path = {.id = ID, .pod = STATIC};
	struct container_names names = {0};

	(void)state;
	assert_true(container_names_of_pod(&path, text("kube-system_etcd-a-node1_" STATIC "\n"),
					   text(""), "node1", &names));
	assert_string_equal(names.service, "etcd-a");
	assert_true(container_names_of_pod(&path, text("kube-system_etcd-0_" STATIC "\n"), text(""),
					   "node1", &names));
	assert_string_equal(names.service, "etcd-0");
	assert_true(container_names_of_pod(&path, text("kube-system_node1_" STATIC "\n"), text(""),
					   "node1", &names));
	assert_string_equal(names.service, "node1");
	assert_true(container_names_of_pod(&path, text("kube-system_etcd-_" STATIC "\n"), text(""),
					   "", &names));
	assert_string_equal(names.service, "etcd-");
}

/* Nobody's service but a container's is called so. */
static void test_names_of_other_services(void **state)
{
	static const char *const taken[] = {
		"sshd.service", "a.scope", "x.socket", "kernel", "other", "transient", "user-0", "",
	};
	static const char *const own[] = {"user-api", "user-1a", "nginx", "web.example.org",
					  "kernel-x"};

	(void)state;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		struct container_names names = {0};

		container_names_set(&names, taken[i], "image");
		assert_string_equal(names.service, "");
		assert_string_equal(names.container, taken[i]);
		assert_string_equal(names.image, "image");
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct container_names names = {0};

		container_names_set(&names, own[i], "");
		assert_string_equal(names.service, own[i]);
	}
}

static void test_machines(void **state)
{
	const struct container_path lxc = {.runtime = CONTAINER_LXC, .machine = "web"};
	const struct container_path machine = {.runtime = CONTAINER_MACHINE, .machine = "web"};
	struct container_names names;

	(void)state;
	container_names_of_path(&lxc, &names);
	assert_names(names, "", "", "web", "web");
	container_names_of_path(&machine, &names);
	assert_names(names, "", "", "web", "");
	container_names_of_path(&in_pod, &names);
	assert_names(names, "", "", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_static_pods),
		cmocka_unit_test(test_names_of_other_services),
		cmocka_unit_test(test_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
