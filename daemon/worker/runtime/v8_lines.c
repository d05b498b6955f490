/* SPDX-License-Identifier: MIT */
/*
 * An entry of V8's table is two numbers: how many bytecodes later, of which the sign says something
 * else (negative: one less, and it is no statement); and how much farther in the source. They have
 * seven bits a byte, the lowest first; the lowest bit of all is the sign. A bytecode's position is
 * that of the last entry that is not behind it.
 */
#include "daemon/worker/runtime/v8_lines.h"

#include <stdbool.h>
#include <string.h>

#include "common/runtime/row.h"

/* Where the function begins, before its first bytecode. */
#define ENTRY_BEGINS (-1)
/* A position: what the numbers are of, if not of the script; the character in it, from 1 on. */
#define POSITION_EXTERNAL 1
#define POSITION_SHIFT    1
#define POSITION_MASK     ((1u << 30) - 1)

struct position_table {
	const uint8_t *at, *end;
	int64_t offset;    /* of the entry */
	uint64_t position; /* as V8 packs it */
};

static bool position_take_number(struct position_table *t, int64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; t->at < t->end && shift < 64; shift += 7) {
		uint8_t byte = *t->at++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte & 128)
			continue;
		*ret = (int64_t)(value >> 1 ^ -(value & 1));
		return true;
	}
	return false;
}

/* The next entry. False: there are no more. */
static bool position_take(struct position_table *t)
{
	int64_t offset, position;

	if (!position_take_number(t, &offset) || !position_take_number(t, &position))
		return false;
	if (offset < 0)
		offset = -(offset + 1);
	if (offset > INT32_MAX || t->offset > INT32_MAX)
		return false;
	t->offset += offset;
	t->position += (uint64_t)position;
	return true;
}

/* The character of the script that the bytecode at @offset is of. */
static bool position_find(struct position_table *t, uint32_t offset, bool is_cut, uint32_t *ret)
{
	uint64_t found = 0;
	uint32_t character;

	while (position_take(t)) {
		is_cut = is_cut && t->offset <= offset;
		if (t->offset > offset)
			break;
		found = t->position;
	}
	character = (uint32_t)(found >> POSITION_SHIFT) & POSITION_MASK;
	if (is_cut || found & POSITION_EXTERNAL || !character)
		return false;
	*ret = character - 1;
	return true;
}

/* Bits that are set of the first @n, of which @per_byte are in each byte. */
static uint32_t map_count(const uint8_t *map, uint32_t n, uint32_t per_byte)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n / per_byte; i++)
		count += (uint32_t)__builtin_popcount(map[i]);
	if (n % per_byte)
		count += (uint32_t)__builtin_popcount(map[n / per_byte] &
						      ((1u << n % per_byte) - 1));
	return count;
}

/* How many lines after the function's first one. */
static uint32_t v8_lines_passed(const uint8_t *table, size_t length, uint32_t offset)
{
	struct position_table t = {.offset = ENTRY_BEGINS};
	struct runtime_v8_lines head;
	uint32_t position, per_byte;
	const uint8_t *map;

	if (length < sizeof(head))
		return 0;
	memcpy(&head, table, sizeof(head));
	length -= sizeof(head);
	if (head.n_positions > length || (head.width != 1 && head.width != 2))
		return 0;
	t.at = table + sizeof(head);
	t.end = map = t.at + head.n_positions;
	per_byte = 8u / head.width;
	if (offset >= RUNTIME_AT_UNKNOWN || !position_find(&t, offset, head.is_cut, &position) ||
	    position < head.start ||
	    (position - head.start) / per_byte >= length - head.n_positions)
		return 0;
	return map_count(map, position - head.start, per_byte);
}

uint32_t v8_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		 uint32_t offset)
{
	uint64_t line = (uint64_t)first + v8_lines_passed(table, length, offset);

	(void)version;
	return line <= INT32_MAX ? (uint32_t)line : 0;
}
