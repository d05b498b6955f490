/* SPDX-License-Identifier: MIT */
/* Whether a service is among those that processes run in. */
#include "client/profctl/services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"

static struct services_search search_in(const char *asked, const char *text)
{
	struct services_search search = {.nearest.asked = asked};

	services_add_groups(&search, text);
	return search;
}

static void test_groups(void **state)
{
	static const char text[] = "12:pids:/system.slice/nginx.service\n"
				   "1:name=systemd:/system.slice/system-getty.slice/"
				   "getty@tty1.service\n"
				   "0::/user.slice/user-1000.slice/session-2.scope\n";
	static const char *const there[] = {"nginx", "nginx.service", "getty@tty1.service",
					    "session-2.scope"};
	static const char *const not_there[] = {"ngin",      "ngnix",        "session-2",   "getty",
						"user-1000", "system.slice", "nginx.scope", "pids"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(there); i++)
		assert_true(search_in(there[i], text).is_found);
	for (size_t i = 0; i < ARRAY_SIZE(not_there); i++) {
		struct services_search search = search_in(not_there[i], text);

		assert_true(search.has_any && !search.is_found);
	}
	assert_string_equal(search_in("ngnix", text).nearest.names[0], "nginx.service");
	assert_false(search_in("x", "0::/\n").has_any);
	assert_false(search_in("x", "0::/.service/.scope").has_any);
	assert_false(search_in("x", "").has_any);
	assert_true(search_in("a", "a.service").is_found); /* without a line's end */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
