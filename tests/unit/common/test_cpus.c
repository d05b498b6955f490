/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cpus.h"

static int parse(const char *text, struct cpus *ret)
{
	return cpus_parse((const uint8_t *)text, strlen(text), ret);
}

static void test_lists(void **state)
{
	struct cpus cpus;

	(void)state;
	assert_int_equal(parse("0-3,8\n", &cpus), CPUS_E_OK);
	assert_int_equal(cpus.n, 5);
	assert_true(cpus_has(&cpus, 0) && cpus_has(&cpus, 3) && cpus_has(&cpus, 8));
	assert_false(cpus_has(&cpus, 4) || cpus_has(&cpus, 7) || cpus_has(&cpus, 9));
	assert_int_equal(parse("", &cpus), CPUS_E_OK);
	assert_int_equal(cpus.n, 0);
	assert_int_equal(parse("8191", &cpus), CPUS_E_OK);
	assert_true(cpus_has(&cpus, 8191));
	assert_false(cpus_has(&cpus, 8192));
	assert_int_equal(parse("1,1,0-2", &cpus), CPUS_E_OK);
	assert_int_equal(cpus.n, 3);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {",",   "1,",   "-1",     "3-1", "1-",
					    "a",   "8192", "0-8192", "1 2", "99999999999999",
					    "1,,2"};
	struct cpus cpus = {.n = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i], &cpus), CPUS_E_MALFORMED);
	assert_int_equal(cpus.n, 77);
}

static void test_online(void **state)
{
	struct cpus cpus, possible;

	(void)state;
	assert_int_equal(cpus_read_online(&cpus), 0);
	assert_true(cpus.n >= 1);
	assert_int_equal(cpus_read_possible(&possible), 0);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		assert_true(!cpus_has(&cpus, cpu) || cpus_has(&possible, cpu));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_online),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
