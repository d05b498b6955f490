/* SPDX-License-Identifier: MIT */
#include "tests/unit/output/fixture.h"

#include "common/profile/windows.h"

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

/* What no ledger of profd's is costs no more than one. */
static void test_bounds(void **state)
{
	static char words[1 << 20];
	cleanup(freep) char *line = NULL;
	size_t length = 0, n = 0;

	(void)state;
	for (unsigned i = 0; length + 16 < sizeof(words); i++)
		length += (size_t)snprintf(words + length, 16, "a%u=1 ", i);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ledger_line_add(&line, words), 0);
	for (const char *c = line; *c; c++)
		n += *c == '=';
	assert_int_equal(n, 128);
	assert_memory_equal(line, "a0=2 a1=2 ", 10);
	assert_int_equal(ledger_line_add(&line, "a0=5 b=1"), 0);
	assert_memory_equal(line, "a0=7 b=1 a1=2 ", 14);
	memset(words, 'x', sizeof(words) - 1);
	assert_int_equal(ledger_line_add(&line, words), 0);
	assert_memory_equal(line, "a0=7 b=1 a1=2 ", 14);
	check("a=9999999999999999999", "a=9999999999999999999", "a=9999999999999999999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),
					   cmocka_unit_test(test_bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
