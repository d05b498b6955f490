/* SPDX-License-Identifier: MIT */
/* What credentials for metrics, and strangers on loopback, may ask for. */
#include "client/gateway/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_roles(void **state)
{
	(void)state;
	assert_string_equal(routes[0].path, "/metrics");
	assert_int_equal(routes[0].role, HTTP_ROLE_METRICS);
	for (const struct http_route *route = routes + 1; route->path; route++)
		if (route->role != HTTP_ROLE_READ)
			fail_msg("%s is for role %d", route->path, (int)route->role);
}

/* For its headers alone, nothing is sampled. */
static void test_profiles_take_no_head(void **state)
{
	(void)state;
	for (const struct http_route *route = routes; route->path; route++)
		if (strstr(route->path, "/profile") &&
		    route->takes & (HTTP_TAKES_HEAD | HTTP_TAKES_POST))
			fail_msg("%s takes more than GET", route->path);
}

/* As scrapers repeat theirs. */
static void test_profiles_take_repeated(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const struct http_route *route = routes; route->path; route++)
		n += strstr(route->path, "/debug/pprof/profile") &&
		     route->takes & HTTP_TAKES_REPEATED;
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_profiles_take_no_head),
		cmocka_unit_test(test_profiles_take_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
