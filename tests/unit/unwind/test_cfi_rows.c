/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/unwind/cfi_private.h"

#define MANY 50000u

/* Many rules and rows: numbers are those of the first time, and are kept while tables grow. */
static void test_growth(void **state)
{
	const struct cfi_limits limits = {.max_rows = SIZE_MAX, .max_rules = SIZE_MAX};
	struct cfi_rows_builder b;

	(void)state;
	assert_int_equal(cfi_rows_builder_init(&b, &limits), 0);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		assert_int_equal(cfi_rows_put(&b, i, 1 + (uint64_t)(i % MANY) * 0x100000001),
				 CFI_E_OK);
	assert_int_equal(b.rows->n_rules, MANY);
	assert_int_equal(b.rows->n_rows, 2 * MANY);
	for (uint32_t i = 0; i < 2 * MANY; i++) {
		assert_int_equal(b.rows->rows[i].offset, i);
		assert_int_equal(b.rows->rows[i].rule, i % MANY);
		assert_int_equal(b.rows->rules[i % MANY], 1 + (uint64_t)(i % MANY) * 0x100000001);
	}
	cfi_rows_builder_deinit(&b);
}

static void test_merging(void **state)
{
	const struct cfi_limits limits = {.max_rows = 100, .max_rules = 100};
	struct cfi_rows_builder b;

	(void)state;
	assert_int_equal(cfi_rows_builder_init(&b, &limits), 0);
	assert_int_equal(cfi_rows_put(&b, 1, RULE_WORD(RULE_UNKNOWN)), CFI_E_OK);
	assert_int_equal(b.rows->n_rows, 0);
	assert_int_equal(cfi_rows_put(&b, 2, 77), CFI_E_OK);
	assert_int_equal(cfi_rows_put(&b, 3, 77), CFI_E_OK);
	assert_int_equal(cfi_rows_put(&b, 4, RULE_WORD(RULE_UNKNOWN)), CFI_E_OK);
	assert_int_equal(cfi_rows_put(&b, 5, 78), CFI_E_OK);
	assert_int_equal(b.rows->n_rows, 3);
	assert_int_equal(b.rows->rows[0].offset, 2);
	assert_int_equal(b.rows->rows[1].offset, 4);
	cfi_rows_cut(&b, 2);
	cfi_rows_cut(&b, 5);
	assert_int_equal(b.rows->n_rows, 2);
	assert_int_equal(cfi_rows_put(&b, 6, RULE_WORD(RULE_UNKNOWN)), CFI_E_OK);
	assert_int_equal(b.rows->n_rows, 2);
	cfi_rows_clear(&b);
	assert_int_equal(cfi_rows_put(&b, 1, 78), CFI_E_OK);
	assert_int_equal(b.rows->n_rows, 1);
	assert_int_equal(b.rows->n_rules, 1);
	assert_int_equal(b.rows->rules[0], 78);
	cfi_rows_builder_deinit(&b);
}

static void test_limits(void **state)
{
	const struct cfi_limits limits = {.max_rows = 3000, .max_rules = 100};
	struct cfi_rows_builder b;

	(void)state;
	assert_int_equal(cfi_rows_builder_init(&b, &limits), 0);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(cfi_rows_put(&b, i, 1 + i % 100), CFI_E_OK);
	assert_int_equal(cfi_rows_put(&b, 3000, 100), CFI_E_OK);
	assert_int_equal(cfi_rows_put(&b, 3001, 1), CFI_E_TOO_BIG);
	assert_int_equal(cfi_rows_put(&b, 3001, 101), CFI_E_TOO_BIG);
	assert_int_equal(b.rows->n_rows, 3000);
	assert_int_equal(b.rows->n_rules, 100);
	cfi_rows_builder_deinit(&b);
}

/* Rules that all fall into one bucket, however many there are: refused before it costs much. */
static void test_collisions(void **state)
{
	const struct cfi_limits limits = {.max_rows = SIZE_MAX, .max_rules = SIZE_MAX};
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	struct cfi_rows_builder b;
	uint64_t inverse = 1;
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	assert_int_equal(inverse * factor, 1);
	assert_int_equal(cfi_rows_builder_init(&b, &limits), 0);
	while (n < MANY && !cfi_rows_put(&b, n, inverse * (n + 1)))
		n++;
	assert_in_range(n, 100, 1000);
	assert_int_equal(b.rows->n_rows, n);
	cfi_rows_builder_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
