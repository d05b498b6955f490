/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/symbols/symtab.h"
#include "tests/support/random.h"

#define BASE 0x1000u
#define SPAN 200u

static struct symtab *random_table(uint64_t seed, unsigned n)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	struct symtab *s = NULL;

	for (unsigned i = 0; i < n; i++) {
		const struct symtab_entry entry = {
			.start = BASE + random_next(&seed) % SPAN,
			.size = 1 + random_next(&seed) % (random_next(&seed) % 4 ? 12 : 60),
			.name = "f",
			.name_length = 1,
		};

		assert_int_equal(symtab_entries_add(&list, &entry), 0);
	}
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	return s;
}

/* Where nothing is found, a gap says so of all of its addresses, and is as large as it can be. */
static void test_gaps(void **state)
{
	struct symtab_symbol symbol;
	uint64_t start, end;

	(void)state;
	for (uint64_t seed = 1; seed < 500; seed++) {
		cleanup(symtab_freep) struct symtab *s = random_table(seed, 1 + seed % 20);

		for (uint64_t a = BASE - 2; a < BASE + 2 * SPAN; a++) {
			if (symtab_find(s, a, &symbol))
				continue;
			start = symbol.start;
			end = start + symbol.size;
			assert_true(start <= a && a < end);
			for (uint64_t i = start ? start : a; i < end && i < BASE + 2 * SPAN; i++)
				assert_false(symtab_find(s, i, &symbol));
			assert_true(start == 0 || symtab_find(s, start - 1, &symbol));
			assert_true(end == UINT64_MAX || symtab_find(s, end, &symbol));
		}
	}
}

static void test_gap_at_the_end(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(symtab_freep) struct symtab *s = NULL;
	const struct symtab_entry entry = {
		.start = UINT64_MAX - 4, .size = 100, .name = "f", .name_length = 1};
	struct symtab_symbol symbol;

	(void)state;
	assert_int_equal(symtab_entries_add(&list, &entry), 0);
	assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
	assert_false(symtab_find(s, 7, &symbol));
	assert_int_equal(symbol.start, 0);
	assert_int_equal(symbol.size, UINT64_MAX - 4);
}

/* Of equals the first by name, however they were ordered; names alike in their first KiB are. */
static void test_equals(void **state)
{
	static const char *const names[] = {"delta", "alpha", "gamma", "alphabet", "beta"};

	(void)state;
	for (unsigned first = 0; first < 5; first++) {
		cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
		cleanup(symtab_freep) struct symtab *s = NULL;
		struct symtab_symbol symbol;

		for (unsigned i = 0; i < 5; i++) {
			const char *name = names[(first + i) % 5];
			const struct symtab_entry entry = {.start = BASE,
							   .size = 4,
							   .name = name,
							   .name_length = (uint32_t)strlen(name)};

			assert_int_equal(symtab_entries_add(&list, &entry), 0);
		}
		assert_int_equal(symtab_build(&s, &list, SIZE_MAX), 0);
		assert_true(symtab_find(s, BASE + 3, &symbol));
		assert_string_equal(symbol.name, "alpha");
	}
}

static void test_suffix(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(symtab_freep) struct symtab *s = NULL;
	const struct symtab_entry stub = {
		.start = BASE, .size = 4, .name = "read", .name_length = 4, .is_stub = 1};
	const struct symtab_entry plain = {
		.start = BASE + 8, .size = 4, .name = "read", .name_length = 4};
	struct symtab_symbol symbol;

	(void)state;
	assert_int_equal(symtab_entries_add(&list, &stub), 0);
	assert_int_equal(symtab_entries_add(&list, &plain), 0);
	/* Room for the one with its suffix, and the other, two bytes more each, to the byte. */
	assert_int_equal(symtab_build(&s, &list, 16), 0);
	assert_true(symtab_find(s, BASE, &symbol));
	assert_string_equal(symbol.name, "read@plt");
	assert_true(symtab_find(s, BASE + 8, &symbol));
	assert_string_equal(symbol.name, "read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_gap_at_the_end),
		cmocka_unit_test(test_equals),
		cmocka_unit_test(test_suffix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
