/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *raw, struct http_target *t)
{
	return http_target_parse(raw, strlen(raw), t);
}

static void test_paths(void **state)
{
	struct http_target t;

	(void)state;
	assert_int_equal(parse("/", &t), HTTP_TARGET_E_OK);
	assert_int_equal(t.n_segments, 0);
	assert_int_equal(parse("/service/a%2Fb%20c/debug", &t), HTTP_TARGET_E_OK);
	assert_int_equal(t.n_segments, 3);
	assert_string_equal(t.segments[1], "a/b c");
	assert_string_equal(t.segments[2], "debug");
	/* A plus is a blank in queries alone. */
	assert_int_equal(parse("/a+b?c=d+e", &t), HTTP_TARGET_E_OK);
	assert_string_equal(t.segments[0], "a+b");
	assert_string_equal(http_target_param(&t, "c"), "d e");
	assert_int_equal(parse("/%C3%A9", &t), HTTP_TARGET_E_OK);
	assert_string_equal(t.segments[0], "\xc3\xa9");
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"",         "metrics", "*",     "http://host/metrics",
		"//",       "/a//b",   "/a/",   "/a/../b",
		"/a/./b",   "/%2e%2e", "/%2e",  "/..",
		"/a%",      "/a%1",    "/a%zz", "/a%00b",
		"/a%0ab",   "/a\x7f",  "/a\nb", "/a#b",
		"/a?b=%0d", "/a?b=%",
	};
	struct http_target t;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &t) != HTTP_TARGET_E_MALFORMED)
			fail_msg("\"%s\" is not malformed", bad[i]);
	assert_int_equal(http_target_parse("/a\0b", 4, &t), HTTP_TARGET_E_MALFORMED);
}

static void test_queries(void **state)
{
	struct http_target t;

	(void)state;
	assert_int_equal(parse("/a?since=-10m&until&x=a%26b=c", &t), HTTP_TARGET_E_OK);
	assert_int_equal(t.n_params, 3);
	assert_string_equal(http_target_param(&t, "since"), "-10m");
	assert_string_equal(http_target_param(&t, "until"), "");
	assert_string_equal(http_target_param(&t, "x"), "a&b=c");
	assert_null(http_target_param(&t, "y"));
	assert_false(t.is_repeated);
	assert_int_equal(parse("/a?b=1&b=2", &t), HTTP_TARGET_E_OK);
	assert_true(t.is_repeated);
	assert_string_equal(http_target_param(&t, "b"), "1");
	assert_int_equal(parse("/a?=1&=2", &t), HTTP_TARGET_E_OK);
	assert_true(t.is_repeated);
	assert_int_equal(parse("/a?&&", &t), HTTP_TARGET_E_OK);
	assert_int_equal(t.n_params, 0);
}

static void test_limits(void **state)
{
	char text[HTTP_TARGET_MAX + 2];
	struct http_target t;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[0] = '/';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(text, &t), HTTP_TARGET_E_TOO_LONG);
	text[HTTP_TARGET_MAX - HTTP_PARAMS_MAX - 1] = '\0';
	assert_int_equal(parse(text, &t), HTTP_TARGET_E_OK);
	assert_int_equal(parse("/1/2/3/4/5/6/7/8", &t), HTTP_TARGET_E_OK);
	assert_int_equal(parse("/1/2/3/4/5/6/7/8/9", &t), HTTP_TARGET_E_TOO_LONG);
	assert_int_equal(parse("/?1&2&3&4&5&6&7&8&9&a&b&c&d&e&f&g", &t), HTTP_TARGET_E_OK);
	assert_int_equal(parse("/?1&2&3&4&5&6&7&8&9&a&b&c&d&e&f&g&h", &t), HTTP_TARGET_E_TOO_LONG);
}

static void test_patterns(void **state)
{
	struct http_target t;
	const char *wild;

	(void)state;
	assert_int_equal(parse("/pid/12/debug", &t), HTTP_TARGET_E_OK);
	assert_true(http_target_matches(&t, "/pid/*/debug", &wild));
	assert_string_equal(wild, "12");
	assert_true(http_target_matches(&t, "/pid/12/debug", &wild));
	assert_null(wild);
	assert_false(http_target_matches(&t, "/pid/*", &wild));
	assert_false(http_target_matches(&t, "/pid/*/debug/pprof", &wild));
	assert_false(http_target_matches(&t, "/service/*/debug", &wild));
	assert_false(http_target_matches(&t, "/", &wild));
	assert_int_equal(parse("/", &t), HTTP_TARGET_E_OK);
	assert_true(http_target_matches(&t, "/", &wild));
	assert_false(http_target_matches(&t, "/metrics", &wild));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),    cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_queries),  cmocka_unit_test(test_limits),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
