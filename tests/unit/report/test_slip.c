/* SPDX-License-Identifier: MIT */
/* What is a slip of the hand, and what is another word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/slip.h"
#include "common/cleanup.h"

static void test_slips(void **state)
{
	static const struct {
		const char *a, *b;
		bool is;
	} cases[] = {
		{"focus", "focus", true},    {"focs", "focus", true},
		{"ocus", "focus", true},     {"focu", "focus", true},
		{"foccus", "focus", true},   {"fokus", "focus", true},
		{"fcous", "focus", true},    {"ofcus", "focus", true},
		{"focsu", "focus", true},    {"fucos", "focus", false},
		{"fous", "focus", true},     {"fus", "focus", false},
		{"foccuss", "focus", false}, {"aa", "aaa", true},
		{"ab", "ba", true},          {"", "a", true},
		{"", "ab", false},           {"abcd", "badc", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *a = cases[i].a, *b = cases[i].b;

		if (slip_is(a, strlen(a), b, strlen(b)) != cases[i].is ||
		    slip_is(b, strlen(b), a, strlen(a)) != cases[i].is)
			fail_msg("'%s' and '%s'", a, b);
	}
	assert_true(slip_is("stat=", 4, "start-", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_slips)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
