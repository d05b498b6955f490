/* SPDX-License-Identifier: MIT */
/* A packed table against a linear search over the rows that it was made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/table.h"

#define N_RULES 37u
#define GUARD   7u /* words before the table in the array */

#define UNKNOWN (N_RULES - 1) /* index of RULE_UNKNOWN: not the first */

/* All different. */
static uint64_t rules[N_RULES];

static int make_rules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UNKNOWN; i++)
		rules[i] = rule_pack(&(struct rule){
			.kind = RULE_CFA, .cfa_offset = 8 + 8 * (int)i, .ra_offset = -8});
	return 0;
}

static uint64_t expected(const struct cfi_rows *rows, uint32_t offset)
{
	uint64_t rule = RULE_WORD(RULE_UNKNOWN);

	for (size_t i = 0; i < rows->n_rows && rows->rows[i].offset <= offset; i++)
		rule = rows->rules[rows->rows[i].rule];
	return rule;
}

struct packed {
	struct table_slot slot;
	uint64_t *words; /* GUARD words of ones, then the table */
	size_t n_words;
};

static void pack(const struct cfi_rows *rows, struct packed *ret)
{
	uint64_t *words;
	size_t n;

	assert_int_equal(table_pack(rows, SIZE_MAX, &ret->slot, &words, &n), TABLE_E_OK);
	assert_int_equal(ret->slot.state, TABLE_LOADED);
	assert_int_equal(ret->slot.first, 0);
	assert_int_equal(ret->slot.version, 0);
	ret->words = malloc((GUARD + n) * sizeof(*words));
	assert_non_null(ret->words);
	memset(ret->words, 0xff, GUARD * sizeof(*words));
	memcpy(ret->words + GUARD, words, n * sizeof(*words));
	ret->n_words = GUARD + n;
	ret->slot.first = GUARD;
	free(words);
}

static void assert_at(const struct packed *packed, const struct cfi_rows *rows, uint32_t offset)
{
	assert_true(table_search(packed->words, packed->n_words, &packed->slot, offset) ==
		    expected(rows, offset));
}

/* Around each row, each chunk's borders, and the ends of all offsets. */
static void assert_equal_everywhere(const struct cfi_rows *rows)
{
	struct packed packed;
	uint32_t first = rows->rows[0].offset, last = rows->rows[rows->n_rows - 1].offset;

	pack(rows, &packed);
	for (size_t i = 0; i < rows->n_rows; i++)
		for (uint32_t d = 0; d < 3; d++)
			assert_at(&packed, rows, rows->rows[i].offset - 1 + d);
	for (uint64_t at = first & ~(TABLE_CHUNK - 1); at <= (uint64_t)last + TABLE_CHUNK;
	     at += TABLE_CHUNK)
		for (uint32_t d = 0; d < 3; d++)
			assert_at(&packed, rows, (uint32_t)at - 1 + d);
	assert_at(&packed, rows, 0);
	assert_at(&packed, rows, UINT32_MAX);
	free(packed.words);
}

/* Ascending rows from @first on, 1 .. @gap bytes apart; the last one is RULE_UNKNOWN. */
static struct cfi_rows random_rows(struct cfi_row *room, size_t n, uint32_t first, uint32_t gap)
{
	uint32_t offset = first;

	for (size_t i = 0; i < n; i++) {
		room[i].offset = offset;
		room[i].rule = i + 1 < n ? (uint32_t)random() % N_RULES : UNKNOWN;
		offset += 1 + (uint32_t)random() % gap;
	}
	return (struct cfi_rows){.rows = room, .n_rows = n, .rules = rules, .n_rules = N_RULES};
}

static void test_random_tables(void **state)
{
	static const uint32_t gaps[] = {1, 2, 16, 300, 5000, 100000};
	static const uint32_t firsts[] = {0, 1, 1023, 1024, 1025, 0x41000, 0xf0000000};
	struct cfi_row room[400];

	(void)state;
	srandom(3);
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = 0; j < 7; j++)
			for (size_t n = 1; n <= 400; n = n * 3 / 2 + 1) {
				struct cfi_rows rows = random_rows(room, n, firsts[j], gaps[i]);

				assert_equal_everywhere(&rows);
			}
}

/* A row for each byte of two chunks, with borders to every side: the longest searches. */
static void test_dense_chunks(void **state)
{
	enum { N = 2 * TABLE_CHUNK + 2 };
	cleanup(freep) struct cfi_row *room = calloc(N, sizeof(*room));
	struct cfi_rows rows;
	struct packed packed;

	(void)state;
	assert_non_null(room);
	rows = random_rows(room, N, 5 * TABLE_CHUNK - 1, 1);
	pack(&rows, &packed);
	for (size_t i = 0; i < N; i++)
		assert_true(table_search(packed.words, packed.n_words, &packed.slot,
					 room[i].offset) == rules[room[i].rule]);
	assert_at(&packed, &rows, 5 * TABLE_CHUNK - 2);
	assert_at(&packed, &rows, 7 * TABLE_CHUNK + 1);
	free(packed.words);
}

static void test_a_single_row(void **state)
{
	struct cfi_row row = {.offset = 0x12345, .rule = UNKNOWN};
	struct cfi_rows rows = {.rows = &row, .n_rows = 1, .rules = rules, .n_rules = N_RULES};

	(void)state;
	assert_equal_everywhere(&rows);
	row.offset = UINT32_MAX;
	assert_equal_everywhere(&rows);
}

/* One rule over many chunks without rows of their own. */
static void test_chunks_without_rows(void **state)
{
	struct cfi_row room[] = {{3000, 4}, {1000 * 1024, 5}, {1000 * 1024 + 1, UNKNOWN}};
	struct cfi_rows rows = {.rows = room, .n_rows = 3, .rules = rules, .n_rules = N_RULES};
	struct packed packed;

	(void)state;
	assert_equal_everywhere(&rows);
	pack(&rows, &packed);
	assert_int_equal(packed.slot.first_chunk, 2);
	assert_int_equal(packed.slot.n_chunks, 999);
	assert_true(table_search(packed.words, packed.n_words, &packed.slot, 2999) == 0);
	assert_true(table_search(packed.words, packed.n_words, &packed.slot, 500000) == rules[4]);
	free(packed.words);
}

static void test_refusals(void **state)
{
	struct cfi_row room[] = {{0, 1}, {4000000000u, UNKNOWN}};
	struct cfi_rows rows = {.rows = room, .n_rows = 0, .rules = rules, .n_rules = N_RULES};
	struct table_slot slot;
	uint64_t *words;
	size_t n;

	(void)state;
	assert_int_equal(table_pack(&rows, SIZE_MAX, &slot, &words, &n), TABLE_E_TOO_BIG);
	rows.n_rows = 2; /* 3.9 million chunks between them */
	assert_int_equal(table_pack(&rows, 1000000, &slot, &words, &n), TABLE_E_TOO_BIG);
	rows.n_rules = TABLE_RULES_MAX + 1;
	assert_int_equal(table_pack(&rows, SIZE_MAX, &slot, &words, &n), TABLE_E_TOO_BIG);
	rows.n_rules = N_RULES;
	room[1].offset = 8;
	assert_int_equal(table_pack(&rows, N_RULES + 1, &slot, &words, &n), TABLE_E_TOO_BIG);
	assert_int_equal(table_pack(&rows, N_RULES + 2, &slot, &words, &n), TABLE_E_OK);
	assert_int_equal(n, N_RULES + 2);
	free(words);
}

static void assert_of_dictionary(const uint64_t *words, const struct table_slot *slot,
				 uint64_t rule)
{
	if (rule == RULE_WORD(RULE_UNKNOWN))
		return;
	for (unsigned i = 0; i < slot->n_rules; i++)
		if (words[slot->first + i] == rule)
			return;
	fail_msg("%#llx is no rule of the table", (unsigned long long)rule);
}

/* A slot and words that say anything: nothing outside of the array is read, it ends,
 * and what comes out is of the dictionary. */
static void test_hostile_slots(void **state)
{
	enum { N = 64 };
	cleanup(freep) uint64_t *words = calloc(N, sizeof(*words));

	(void)state;
	assert_non_null(words);
	srandom(4);
	for (unsigned i = 0; i < 50000; i++) {
		struct table_slot slot = {
			.state = TABLE_LOADED,
			.first = (uint32_t)random() % (2 * N),
			.n_rules = (uint32_t)random() % N,
			.n_chunks = (uint32_t)random() % N,
			.first_chunk = (uint32_t)random() % 4,
			.n_rows = (uint32_t)random(),
		};

		if (i % 16 == 0)
			slot.first = slot.n_rules = slot.n_chunks = UINT32_MAX;
		/* Half of them without the bits that make a row's rule or a chunk's row large. */
		for (unsigned j = 0; j < N; j++)
			words[j] = (uint64_t)random() << 33 ^ (uint64_t)random() << 11;
		for (unsigned j = 0; i % 2 && j < N; j++)
			words[j] &= UINT64_C(0xffff0000ffff);
		assert_of_dictionary(words, &slot,
				     table_search(words, N, &slot,
						  (uint32_t)random() % (N * TABLE_CHUNK)));
		table_search(words, 0, &slot, (uint32_t)random());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_tables), cmocka_unit_test(test_dense_chunks),
		cmocka_unit_test(test_a_single_row),  cmocka_unit_test(test_chunks_without_rows),
		cmocka_unit_test(test_refusals),      cmocka_unit_test(test_hostile_slots),
	};

	return cmocka_run_group_tests(tests, make_rules, NULL);
}
