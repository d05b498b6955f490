/* SPDX-License-Identifier: MIT */
/*
 * Each format is a list of ranges of instructions in their order. A range begins where the one
 * before ends, and its line is relative to that of the last range that had one.
 *
 * - 3.8, 3.9: pairs of bytes: instructions until the next line begins; how many lines later
 *   (signed)
 * - 3.10: pairs of bytes: length of the range; lines since the last one (signed), -128: none
 * - 3.11: entries that begin with a byte that has bit 7 set, as no other has: bits 0..2 are the
 *   length in units of two bytes, less one; bits 3..6 what follows
 */
#include "daemon/worker/runtime/python_lines.h"

#include <stdbool.h>

#include "common/runtime/row.h"

#define LINE_NONE_3_10 (-128)

/* What follows the first byte of an entry, since 3.11. Kinds below have columns alone. */
enum {
	ENTRY_ONE_LINE = 10, /* to 12: so many lines later than ENTRY_ONE_LINE */
	ENTRY_NO_COLUMNS = 13,
	ENTRY_LONG = 14,
	ENTRY_NO_LINE = 15,
};

struct line_table {
	const uint8_t *at, *end;
	int64_t line;
};

static uint32_t line_result(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* The last range has no end, but what follows a table that was cut off is not known. */
static uint32_t line_of_3_9(struct line_table *t, uint32_t offset)
{
	bool is_cut = t->end - t->at >= RUNTIME_TABLE_MAX;
	uint64_t begins = 0;

	for (; t->end - t->at >= 2; t->at += 2) {
		begins += t->at[0];
		if (begins > offset)
			return line_result(t->line);
		t->line += (int8_t)t->at[1];
	}
	return is_cut ? 0 : line_result(t->line);
}

static uint32_t line_of_3_10(struct line_table *t, uint32_t offset)
{
	uint64_t ends = 0;

	for (; t->end - t->at >= 2; t->at += 2) {
		int8_t step = (int8_t)t->at[1];

		ends += t->at[0];
		if (step != LINE_NONE_3_10)
			t->line += step;
		if (ends > offset)
			return step == LINE_NONE_3_10 ? 0 : line_result(t->line);
	}
	return 0;
}

/* Six bits a byte, the lowest first; the lowest bit of all is the sign. */
static int64_t line_take_signed(struct line_table *t)
{
	uint64_t value = 0;

	for (unsigned shift = 0; t->at < t->end && shift < 36; shift += 6) {
		uint8_t byte = *t->at++;

		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t line_of_3_11(struct line_table *t, uint32_t offset)
{
	uint64_t ends = 0;

	while (t->at < t->end) {
		unsigned head = *t->at++, kind = head >> 3 & 15;

		ends += 2 * ((head & 7) + 1);
		if (kind == ENTRY_LONG || kind == ENTRY_NO_COLUMNS)
			t->line += line_take_signed(t);
		else if (kind >= ENTRY_ONE_LINE && kind < ENTRY_NO_COLUMNS)
			t->line += kind - ENTRY_ONE_LINE;
		if (ends > offset)
			return kind == ENTRY_NO_LINE ? 0 : line_result(t->line);
		while (t->at < t->end && !(*t->at & 128))
			t->at++;
	}
	return 0;
}

uint32_t python_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		     uint32_t offset)
{
	struct line_table t = {.at = table, .end = table + length, .line = first};

	if (offset >= RUNTIME_AT_UNKNOWN)
		return line_result(first);
	if (version >= 0x030b)
		return line_of_3_11(&t, offset);
	return version == 0x030a ? line_of_3_10(&t, offset) : line_of_3_9(&t, offset);
}
