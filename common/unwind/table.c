/* SPDX-License-Identifier: MIT */
/*
 * A packed table is an array of 64-bit words: the distinct rules; for each chunk of code the index
 * of its first row, in halves of words; the rows, each an offset in its chunk and a rule's index,
 * in halves too. A search takes the chunk, then bisects its rows.
 */
#include "common/unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/partition_point.h"

static size_t words_of_halves(size_t n_halves)
{
	return (n_halves + 1) / 2;
}

static void table_put_half(uint64_t *words, size_t i, uint32_t half)
{
	words[i / 2] |= (uint64_t)half << (i & 1) * 32;
}

/* The @i-th half of the run at word @first; 0 where that is outside of @words. */
static uint32_t table_get_half(const uint64_t *words, size_t n_words, uint64_t first, uint64_t i)
{
	uint64_t at = first + i / 2;

	return at < n_words ? (uint32_t)(words[at] >> (i & 1) * 32) : 0;
}

static void table_measure_rows(const struct cfi_rows *rows, struct table_slot *ret)
{
	uint32_t first = rows->rows[0].offset >> TABLE_CHUNK_BITS;
	uint32_t last = rows->rows[rows->n_rows - 1].offset >> TABLE_CHUNK_BITS;

	*ret = (struct table_slot){
		.state = TABLE_LOADED,
		.n_rules = (uint32_t)rows->n_rules,
		.n_chunks = last - first + 1,
		.first_chunk = first,
		.n_rows = (uint32_t)rows->n_rows,
	};
}

static void table_fill_words(const struct cfi_rows *rows, const struct table_slot *slot,
			     uint64_t *words)
{
	uint64_t *chunks = words + slot->n_rules;
	uint64_t *packed = chunks + words_of_halves(slot->n_chunks + 1);
	size_t row = 0;

	for (size_t i = 0; i < slot->n_rules; i++)
		words[i] = rows->rules[i];
	for (uint32_t chunk = 0; chunk < slot->n_chunks; chunk++) {
		table_put_half(chunks, chunk, (uint32_t)row);
		while (row < rows->n_rows &&
		       rows->rows[row].offset >> TABLE_CHUNK_BITS == slot->first_chunk + chunk) {
			table_put_half(packed, row,
				       rows->rows[row].rule << TABLE_CHUNK_BITS |
					       (rows->rows[row].offset & (TABLE_CHUNK - 1)));
			row++;
		}
	}
	table_put_half(chunks, slot->n_chunks, slot->n_rows);
}

int table_pack(const struct cfi_rows *rows, size_t max_words, struct table_slot *ret_slot,
	       uint64_t **ret_words, size_t *ret_n_words)
{
	struct table_slot slot;
	uint64_t *words;
	size_t n_words;

	if (!rows->n_rows || rows->n_rows > UINT32_MAX || rows->n_rules > TABLE_RULES_MAX)
		return TABLE_E_TOO_BIG;
	table_measure_rows(rows, &slot);
	n_words = slot.n_rules + words_of_halves((size_t)slot.n_chunks + 1) +
		  words_of_halves(slot.n_rows);
	if (n_words > max_words)
		return TABLE_E_TOO_BIG;
	words = calloc(n_words, sizeof(*words));
	if (!words)
		return error_origin(-ENOMEM);
	table_fill_words(rows, &slot, words);
	*ret_slot = slot;
	*ret_words = words;
	*ret_n_words = n_words;
	return TABLE_E_OK;
}

uint64_t table_search(const uint64_t *words, size_t n_words, const struct table_slot *slot,
		      uint32_t offset)
{
	uint64_t chunks = (uint64_t)slot->first + slot->n_rules;
	uint64_t rows = chunks + words_of_halves((size_t)slot->n_chunks + 1);
	uint32_t chunk = offset >> TABLE_CHUNK_BITS, low, high, end, rule;

	if (chunk < slot->first_chunk || chunk - slot->first_chunk >= slot->n_chunks)
		return RULE_WORD(RULE_UNKNOWN);
	chunk -= slot->first_chunk;
	low = table_get_half(words, n_words, chunks, chunk);
	high = table_get_half(words, n_words, chunks, (uint64_t)chunk + 1);
	end = offset & (TABLE_CHUNK - 1);
	/* The first row of the chunk behind @offset; the one before it rules. */
	if (low < high)
		low += (uint32_t)partition_point(high - low, i,
						 (table_get_half(words, n_words, rows, low + i) &
						  (TABLE_CHUNK - 1)) <= end);
	if (!low)
		return RULE_WORD(RULE_UNKNOWN);
	rule = table_get_half(words, n_words, rows, low - 1) >> TABLE_CHUNK_BITS;
	if (rule >= slot->n_rules || (uint64_t)slot->first + rule >= n_words)
		return RULE_WORD(RULE_UNKNOWN);
	return words[slot->first + rule];
}

_Static_assert(N_RULE_BASES == 16, "four bits, all of which are one");

static bool table_word_is_rule(uint64_t word)
{
	if (RULE_KIND(word) == RULE_GO)
		return RULE_GO_PLACE(word) < N_RULE_GO_PLACES;
	return RULE_KIND(word) < N_RULE_KINDS && RULE_RA(word) <= RULE_RA_IN_DI;
}

/* The rows [first, end) of one chunk, at word @rows. */
static bool table_rows_are_sound(const uint64_t *words, size_t n_words, uint64_t rows,
				 const struct table_slot *slot, uint32_t first, uint32_t end)
{
	uint32_t next = 0;

	for (uint32_t i = first; i < end; i++) {
		uint32_t row = table_get_half(words, n_words, rows, i),
			 at = row & (TABLE_CHUNK - 1);

		if (at < next || row >> TABLE_CHUNK_BITS >= slot->n_rules)
			return false;
		next = at + 1;
	}
	return true;
}

bool table_is_sound(const uint64_t *words, size_t n_words, const struct table_slot *slot)
{
	uint64_t chunks = slot->n_rules;
	uint64_t rows = chunks + words_of_halves((size_t)slot->n_chunks + 1);
	uint32_t first, end;

	if (slot->state != TABLE_LOADED || slot->first || slot->version || slot->used_s)
		return false;
	if (!slot->n_rules || slot->n_rules > TABLE_RULES_MAX || !slot->n_chunks || !slot->n_rows ||
	    (uint64_t)slot->first_chunk + slot->n_chunks > 1ull << (32 - TABLE_CHUNK_BITS) ||
	    n_words != rows + words_of_halves(slot->n_rows))
		return false;
	for (size_t i = 0; i < slot->n_rules; i++)
		if (!table_word_is_rule(words[i]))
			return false;
	first = table_get_half(words, n_words, chunks, 0);
	if (first)
		return false;
	for (uint64_t i = 1; i <= slot->n_chunks; i++, first = end) {
		end = table_get_half(words, n_words, chunks, i);
		if (end < first || end > slot->n_rows ||
		    !table_rows_are_sound(words, n_words, rows, slot, first, end))
			return false;
	}
	if (first != slot->n_rows)
		return false;
	/* Where the code ends. */
	return words[table_get_half(words, n_words, rows, first - 1) >> TABLE_CHUNK_BITS] ==
	       RULE_WORD(RULE_UNKNOWN);
}
