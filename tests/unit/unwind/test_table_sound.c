/* SPDX-License-Identifier: MIT */
/* Tables that table_pack() makes are sound; with one word of the world changed, they are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/table.h"

#define N_RULES 5u
#define N_ROWS  40u

struct table {
	struct table_slot slot;
	uint64_t words[64];
	size_t n_words;
};

/* Some rows to a chunk, chunks without any between them, the last row RULE_UNKNOWN. */
static struct table make(void)
{
	struct cfi_row rows[N_ROWS];
	uint64_t rules[N_RULES];
	const struct cfi_rows input = {
		.rows = rows, .n_rows = N_ROWS, .rules = rules, .n_rules = N_RULES};
	struct table table;
	uint64_t *words;

	memset(&table, 0, sizeof(table));
	for (unsigned i = 0; i < N_RULES - 1; i++)
		rules[i] = rule_pack(&(struct rule){
			.kind = RULE_CFA, .cfa_offset = 8 + 8 * (int)i, .ra_offset = -8});
	rules[N_RULES - 1] = RULE_WORD(RULE_UNKNOWN);
	for (unsigned i = 0; i < N_ROWS; i++)
		rows[i] = (struct cfi_row){.offset = 5000 + i * 100 + i / 7 * 3000,
					   .rule = i % (N_RULES - 1)};
	rows[N_ROWS - 1].rule = N_RULES - 1;
	assert_int_equal(table_pack(&input, 64, &table.slot, &words, &table.n_words), TABLE_E_OK);
	memcpy(table.words, words, table.n_words * sizeof(*words));
	free(words);
	return table;
}

static bool is_sound(const struct table *table)
{
	return table_is_sound(table->words, table->n_words, &table->slot);
}

static void test_packed(void **state)
{
	struct table table = make();

	(void)state;
	assert_true(is_sound(&table));
	table.n_words--;
	assert_false(is_sound(&table));
	table.n_words += 2;
	assert_false(is_sound(&table));
}

#define BREAKS(...)                             \
	do {                                    \
		struct table table = make();    \
		__VA_ARGS__;                    \
		assert_false(is_sound(&table)); \
	} while (0)

static void test_slot(void **state)
{
	(void)state;
	BREAKS(table.slot.state = TABLE_ABSENT);
	BREAKS(table.slot.first = 1);
	BREAKS(table.slot.version = 1);
	BREAKS(table.slot.used_s = 1);
	BREAKS(table.slot.n_rules = 0);
	BREAKS(table.slot.n_rules = UINT32_MAX);
	BREAKS(table.slot.n_rows = 0);
	BREAKS(table.slot.n_rows -= 2);
	BREAKS(table.slot.n_rows = UINT32_MAX);
	BREAKS(table.slot.n_chunks = 0);
	BREAKS(table.slot.n_chunks = UINT32_MAX);
	/* Past what an offset can say. */
	BREAKS(table.slot.first_chunk = (1u << (32 - TABLE_CHUNK_BITS)) - table.slot.n_chunks + 1);
	/* As many words, otherwise divided. */
	BREAKS(table.slot.n_rules++, table.slot.n_chunks -= 2);
}

static void set_half(struct table *table, size_t run, size_t i, uint32_t half)
{
	uint64_t *word = &table->words[run + i / 2];

	*word &= ~((uint64_t)UINT32_MAX << (i & 1) * 32);
	*word |= (uint64_t)half << (i & 1) * 32;
}

static size_t chunks_of(const struct table *table)
{
	return table->slot.n_rules;
}

static size_t rows_of(const struct table *table)
{
	return chunks_of(table) + (table->slot.n_chunks + 2) / 2;
}

static void test_words(void **state)
{
	(void)state;
	BREAKS(table.words[0] = RULE_WORD(N_RULE_KINDS));
	BREAKS(table.words[0] = RULE_WORD(15));
	BREAKS(table.words[1] |= 3ull << 41); /* where the return address is */
	BREAKS(set_half(&table, chunks_of(&table), 0, 1));
	BREAKS(set_half(&table, chunks_of(&table), 1, N_ROWS + 1));
	BREAKS(set_half(&table, chunks_of(&table), 1, UINT32_MAX));
	BREAKS(set_half(&table, chunks_of(&table), table.slot.n_chunks, N_ROWS - 1));
	BREAKS(set_half(&table, chunks_of(&table), table.slot.n_chunks - 1, 0));
	/* A rule that is not there. */
	BREAKS(set_half(&table, rows_of(&table), 3, N_RULES << TABLE_CHUNK_BITS));
	BREAKS(set_half(&table, rows_of(&table), 3, UINT32_MAX));
	/* Two rows of one chunk in the wrong order, and at one offset. */
	BREAKS(set_half(&table, rows_of(&table), 1, 0));
	BREAKS(table.words[rows_of(&table)] = table.words[rows_of(&table)] << 32 |
					      (table.words[rows_of(&table)] & UINT32_MAX));
	/* Rows that no chunk has, behind one that could be the last. */
	BREAKS(set_half(&table, chunks_of(&table), table.slot.n_chunks, N_ROWS - 1);
	       set_half(&table, rows_of(&table), N_ROWS - 2,
			(N_RULES - 1) << TABLE_CHUNK_BITS | (TABLE_CHUNK - 2)));
	/* Code without an end. */
	BREAKS(table.words[N_RULES - 1] = table.words[0]);
}

/*
 * Whatever is changed: what passes is searched without leaving it, and yields rules that are known.
 * (Sanitizers see the first.)
 */
static void test_any_change(void **state)
{
	unsigned n_sound = 0;

	(void)state;
	for (size_t bit = 0; bit < make().n_words * 64; bit++) {
		struct table table = make();

		table.words[bit / 64] ^= 1ull << bit % 64;
		if (!is_sound(&table))
			continue;
		n_sound++;
		for (uint32_t at = 0; at < 40000; at += 64)
			assert_true(RULE_KIND(table_search(table.words, table.n_words, &table.slot,
							   at)) < N_RULE_KINDS);
	}
	/* Offsets in rules can be anything. */
	assert_true(n_sound > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_any_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
