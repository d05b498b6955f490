/* SPDX-License-Identifier: MIT */
/* What may have been meant by a name that there is not. */
#include "client/report/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"

static const char *asked_among(const char *asked, const char *const *names, size_t n)
{
	static char text[NEAREST_MAX * (NEAREST_NAME_SIZE + 4) + 32];
	struct nearest nearest = {.asked = asked};

	for (size_t i = 0; i < n; i++)
		nearest_add(&nearest, names[i]);
	return nearest_print(&nearest, text, sizeof(text));
}

static void test_near(void **state)
{
	static const char *const names[] = {
		"ssh.service",   "nginx.service", "postgresql@15-main.service",
		"nginx.service", "cron.service",  "php8.2-fpm.service",
		"other",         "kernel",        "docker-0123456789abcdef0123456789abcdef.scope",
	};
	static const struct {
		const char *asked, *text;
	} cases[] = {
		{"ngnix", "; did you mean nginx.service?"},
		{"NGINX.service", "; did you mean nginx.service?"},
		{"postgres", "; did you mean postgresql@15-main.service?"},
		{"php", "; did you mean php8.2-fpm.service?"},
		{"crond", "; did you mean cron.service?"},
		{"xyzzy", ""},
		{"", ""},
		{".service", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(asked_among(cases[i].asked, names, ARRAY_SIZE(names)),
				    cases[i].text);
}

/* No more than a few, the nearest first, then by name; each once, in whatever order they came. */
static void test_few(void **state)
{
	static const char *const names[] = {"web-d", "web-b", "webb", "web-a", "web-c", "web-a"};
	char longest[NEAREST_NAME_SIZE + 1];
	struct nearest nearest = {.asked = "xeb-a"};
	char text[16];

	(void)state;
	assert_string_equal(asked_among("web-", names, ARRAY_SIZE(names)),
			    "; did you mean web-a, web-b or web-c?");
	assert_string_equal(asked_among("xeb-a", names, 2), "; did you mean web-b or web-d?");
	memset(longest, 'x', NEAREST_NAME_SIZE);
	longest[NEAREST_NAME_SIZE] = '\0';
	nearest_add(&nearest, longest);
	assert_int_equal(nearest.n, 0);
	nearest_add(&nearest, "web-a");
	assert_string_equal(nearest_print(&nearest, text, sizeof(text)), "; did you mean ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
