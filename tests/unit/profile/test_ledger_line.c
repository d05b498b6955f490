/* SPDX-License-Identifier: MIT */
#include "tests/unit/output/fixture.h"

#include "common/profile/ledger_line.h"

static void check(const char *a, const char *b, const char *sum)
{
	cleanup(freep) char *line = a ? strdup(a) : NULL;

	assert_int_equal(ledger_line_add(&line, b), 0);
	if (sum)
		assert_string_equal(line, sum);
	else
		assert_null(line);
}

static void test_sums(void **state)
{
	(void)state;
	check(NULL, NULL, NULL);
	check(NULL, "a=1 b=2", "a=1 b=2");
	check("a=1 b=2", NULL, "a=1 b=2");
	check("a=1 b=2", "a=3 b=4", "a=4 b=6");
	check("a=1", "b=2", "b=2 a=1");
	check("a=1 lost.ring_full=5", "a=1", "a=2 lost.ring_full=5");
	check("source=bpf a=1", "source=perf a=2", "source=perf a=3");
	check("a=x", "a=1", "a=1");
	check("  a=1\tb=2 ", " b=2", "b=4 a=1");
	check("a=", "a=", "a=");
	check("words only", "and others", "and others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
