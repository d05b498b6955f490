/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/worker/container/container_config.h"

#define ID    "4c9a5e8f0b1d2c3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f80910"
#define OTHER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* As docker 24 writes it, shortened. */
#define DOCKER                                                                                \
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":4711,\"Health\":null},"     \
	"\"ID\":\"" ID "\",\"Created\":\"2026-11-29T09:42:30.123456789Z\",\"Managed\":false," \
	"\"Path\":\"/docker-entrypoint.sh\",\"Args\":[\"nginx\",\"-g\",\"daemon off;\"],"     \
	"\"Config\":{\"Hostname\":\"4c9a5e8f0b1d\",\"Env\":[\"A=\\\"{[\",\"B=\\\\\"],"        \
	"\"Image\":\"nginx:1.27\",\"Labels\":{\"Image\":\"no\",\"Name\":\"no\"}},"            \
	"\"Image\":\"sha256:0123\",\"Name\":\"/web-1\",\"RestartCount\":0}"

/* As podman 4 and CRI-O 1.28 have containers/storage write it, shortened. */
#define STORAGE                                                                                \
	"[{\"id\":\"" OTHER "\",\"names\":[\"db\"],\"image\":\"ab\",\"layer\":\"cd\","         \
	"\"metadata\":\"{\\\"image-name\\\":\\\"docker.io/library/postgres:16\\\"}\","         \
	"\"created\":\"2026-11-29T09:42:30Z\",\"flags\":{\"MountLabel\":\"\"}},\n"             \
	" {\"id\":\"" ID "\",\"names\":[\"web\",\"alias\"],\"image\":\"ef\",\"layer\":\"01\"," \
	"\"metadata\":\"{\\\"image-name\\\":\\\"docker.io/library/nginx:latest\\\","           \
	"\\\"image-id\\\":\\\"23\\\",\\\"name\\\":\\\"web\\\",\\\"created-at\\\":1}\"}]\n"

/* As containerd's CRI plugin writes it, shortened. */
#define BUNDLE                                                                               \
	"{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"/pause\"],\"capabilities\":{}}," \
	"\"annotations\":{\"io.kubernetes.cri.container-name\":\"nginx\","                   \
	"\"io.kubernetes.cri.image-name\":\"registry.k8s.io/nginx:1.27\"},\"linux\":{}}"

static int read_text(const char *text, struct worker_container *ret)
{
	return container_config_read(text, strlen(text), ID, ret);
}

static void test_managers(void **state)
{
	struct worker_container c;

	(void)state;
	assert_int_equal(read_text(DOCKER, &c), CONTAINER_CONFIG_E_OK);
	assert_string_equal(c.name, "web-1");
	assert_string_equal(c.image, "nginx:1.27");
	assert_int_equal(read_text(STORAGE, &c), CONTAINER_CONFIG_E_OK);
	assert_string_equal(c.name, "web");
	assert_string_equal(c.image, "docker.io/library/nginx:latest");
	assert_int_equal(read_text(BUNDLE, &c), CONTAINER_CONFIG_E_OK);
	assert_string_equal(c.name, "");
	assert_string_equal(c.image, "registry.k8s.io/nginx:1.27");
}

static void test_who_is_not_there(void **state)
{
	static const char *const texts[] = {
		"[]",
		" [ ] ",
		"[{\"id\":\"" OTHER "\",\"names\":[\"web\"]}]",
		"{}",
		"{\"ID\":\"" OTHER "\",\"Name\":\"/web\",\"Config\":{\"Image\":\"x\"}}",
		"[{\"names\":[\"web\"]},{\"id\":\"\"},{\"id\":7},[],1,\"x\",null]",
		"{\"Name\":\"/web\"}",
	};
	struct worker_container c;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(read_text(texts[i], &c), CONTAINER_CONFIG_E_NONE);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"x",
		"null",
		"\"" ID "\"",
		"{",
		"[",
		"{\"ID\"",
		"{\"ID\":",
		"{\"ID\" 1}",
		"{\"ID\":\"" ID "\" \"Name\":1}",
		"[{}",
		"[{},",
		"[1 2]",
		"{1:2}",
		"{\"a\":[}",
		"{\"a\":}",
		"{\"a\":\"",
		"{\"a\":\"\\",
		"[,]",
		"{\"ID\":\"" ID "\",}",
	};
	struct worker_container c;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (read_text(texts[i], &c) != CONTAINER_CONFIG_E_MALFORMED)
			fail_msg("%s", texts[i]);
}

/* Values of another kind are no names, and no reason to give up. */
static void test_other_kinds_of_values(void **state)
{
	struct worker_container c;

	(void)state;
	assert_int_equal(read_text("{\"ID\":\"" ID "\",\"Name\":[\"/a\"],\"Config\":7}", &c), 0);
	assert_string_equal(c.name, "");
	assert_int_equal(read_text("[{\"id\":\"" ID "\",\"names\":\"a\",\"metadata\":{}}]", &c), 0);
	assert_string_equal(c.name, "");
	assert_int_equal(read_text("[{\"id\":\"" ID "\",\"names\":[],\"metadata\":\"{\"}]", &c), 0);
	assert_int_equal(read_text("[{\"id\":\"" ID "\",\"names\":[1,\"b\"]}]", &c), 0);
	assert_string_equal(c.name, "");
	assert_string_equal(c.image, "");
}

static void test_escapes(void **state)
{
	static const struct {
		const char *escaped, *name;
	} cases[] = {
		{"a\\u002fb", "a/b"},
		{"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
		{"\\u00fc\\u20AC\\ud83d\\ude00", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\\ud83dx", "\xef\xbf\xbdx"},
		{"\\ude00", "\xef\xbf\xbd"},
		{"\\u12", "\xef\xbf\xbd"
			  "12"},
		{"\\q", "\xef\xbf\xbdq"},
		{"a\\u0000b", "a"},
	};
	struct worker_container c;
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(text, "{\"ID\":\"" ID "\",\"Name\":\"");
		strcat(text, cases[i].escaped);
		strcat(text, "\"}");
		assert_int_equal(read_text(text, &c), 0);
		assert_string_equal(c.name, cases[i].name);
	}
}

static void test_lengths(void **state)
{
	static const char *const texts[] = {DOCKER, STORAGE, BUNDLE};
	const size_t size = 1 << 20;
	struct worker_container c;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	/* Cut anywhere, it is not read past its end, which the sanitizers watch. */
	for (size_t i = 0; i < 3; i++)
		for (size_t n = 0; n < strlen(texts[i]); n++) {
			char *cut = malloc(n ? n : 1);

			assert_non_null(cut);
			memcpy(cut, texts[i], n);
			container_config_read(cut, n, ID, &c);
			free(cut);
		}
	/* Long names are cut; */
	memset(text, 'a', size);
	memcpy(text, "{\"ID\":\"" ID "\",\"Name\":\"", strlen("{\"ID\":\"" ID "\",\"Name\":\""));
	memcpy(text + size - 2, "\"}", 2);
	assert_int_equal(container_config_read(text, size, ID, &c), 0);
	assert_int_equal(strlen(c.name), sizeof(c.name) - 1);
	/* however deep it is, it takes no stack. */
	memset(text, '[', size);
	assert_int_equal(container_config_read(text, size, ID, &c), CONTAINER_CONFIG_E_MALFORMED);
	memset(text + size / 2, ']', size / 2);
	assert_int_equal(container_config_read(text, size, ID, &c), CONTAINER_CONFIG_E_NONE);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_managers),  cmocka_unit_test(test_who_is_not_there),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_other_kinds_of_values),
		cmocka_unit_test(test_escapes),   cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
