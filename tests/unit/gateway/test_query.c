/* SPDX-License-Identifier: MIT */
#include "client/gateway/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "tests/support/says.h"

#define NOW (UINT64_C(1795262400) * NS_PER_S)

static struct http_target target;
static struct http_message message;

/* Of this request, below what the routes have. */
static int parse(const char *raw, struct query *q)
{
	struct http_request request = {.target = &target};

	assert_int_equal(http_target_parse(raw, strlen(raw), &target), HTTP_TARGET_E_OK);
	(void)!(http_target_matches(&target, "/pid/*/p", &request.wild) ||
		http_target_matches(&target, "/service/*/p", &request.wild));
	return query_parse(&request, NOW, q, &message);
}

static void test_scopes(void **state)
{
	struct query q;

	(void)state;
	assert_int_equal(parse("/p", &q), QUERY_E_OK);
	assert_int_equal(q.scope, QUERY_MACHINE);
	assert_int_equal(q.seconds, QUERY_SECONDS_STANDARD);
	assert_int_equal(parse("/pid/12/p", &q), QUERY_E_OK);
	assert_int_equal(q.scope, QUERY_PID);
	assert_int_equal(q.pid, 12);
	assert_int_equal(parse("/service/pid/p", &q), QUERY_E_OK);
	assert_int_equal(q.scope, QUERY_SERVICE);
	assert_string_equal(q.service, "pid");
}

static void test_times(void **state)
{
	struct query q;

	(void)state;
	assert_int_equal(parse("/p?seconds=1", &q), QUERY_E_OK);
	assert_int_equal(q.seconds, 1);
	assert_int_equal(parse("/p?since=-10m", &q), QUERY_E_OK);
	assert_int_equal(q.seconds, 0);
	assert_int_equal(q.since_ns, NOW - 600 * NS_PER_S);
	assert_int_equal(q.until_ns, 0);
	assert_int_equal(parse("/p?since=2026-11-21T10:00:00Z&until=2026-11-21T11:00Z&debug=0", &q),
			 QUERY_E_OK);
	assert_int_equal(q.until_ns - q.since_ns, 3600 * NS_PER_S);
	assert_int_equal(parse("/p?seconds=2&seconds=x", &q), QUERY_E_OK);
	assert_int_equal(q.seconds, 2);
}

static void test_bad(void **state)
{
	static const char *const bad[][2] = {
		{"/pid/0/p", "no process"},
		{"/pid/-1/p", "no process"},
		{"/pid/x/p", "no process"},
		{"/pid/4294967297/p", "no process"},
		{"/p?seconds=0", "from 1"},
		{"/p?seconds=-5", "from 1"},
		{"/p?seconds=601", "from 1"},
		{"/p?seconds=1e3", "from 1"},
		{"/p?seconds=", "from 1"},
		{"/p?seconds=18446744073709551617", "from 1"},
		{"/p?seconds=1&since=-1m", "either"},
		{"/p?since=soon", "since is a moment"},
		{"/p?until=", "until is a moment"},
		{"/p?since=-1m&until=-2m", "before"},
	};
	struct query q;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i][0], &q) != QUERY_E_BAD)
			fail_msg("\"%s\" is taken", bad[i][0]);
		assert_says(message.text, bad[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
