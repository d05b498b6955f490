/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python_count.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"

#define CO_VERSION 0x5c
#define NEAR_BYTES 64 /* between instructions that belong together */
#define COUNT_MAX  (2 + 2 + 3 + 6)

/* An operand without index, of an instruction without a prefix: "ModRM" of Intel's manual. */
#define OPERAND_MODE(byte)     ((byte) >> 6)
#define OPERAND_REGISTER(byte) ((byte) >> 3 & 7)
#define OPERAND_BASE(byte)     ((byte)&7)
#define BASE_SIB               4
#define BASE_RIP               5

struct count_code {
	const uint8_t *code;
	uint64_t address;
	size_t at;            /* of: test; je; inc; mov to the counter */
	uint8_t number, base; /* registers */
	uint64_t counter;     /* with BASE_RIP */
};

static uint64_t count_relative(const struct count_code *c, size_t at)
{
	int64_t displacement = (int32_t)bytes_number(c->code + at, 4, false);

	return c->address + at + 4 + (uint64_t)displacement;
}

/* test %number, %number; je behind the last; add $1 or inc %number; mov %number, the counter. */
static bool count_match(struct count_code *c, size_t at)
{
	const uint8_t *code = c->code + at;
	size_t n = 4;

	c->at = at;
	c->number = code[1] & 7;
	if (code[0] != 0x85 || code[1] != (0xc0 | c->number << 3 | c->number) || code[2] != 0x74)
		return false;
	if (code[n] == 0x83 && code[n + 1] == (0xc0 | c->number) && code[n + 2] == 1)
		n += 3;
	else if (code[n] == 0xff && code[n + 1] == (0xc0 | c->number))
		n += 2;
	else
		return false;
	if (code[n] != 0x89 || OPERAND_MODE(code[n + 1]) ||
	    OPERAND_REGISTER(code[n + 1]) != c->number)
		return false;
	c->base = OPERAND_BASE(code[n + 1]);
	n += 2;
	if (c->base == BASE_RIP) {
		c->counter = count_relative(c, at + n);
		n += 4;
	}
	return c->base != BASE_SIB && code[3] == n - 4;
}

/* Before that, the number is the new object's version, and before that, it comes from there. */
static bool count_find_load(const struct count_code *c, size_t from, size_t *ret)
{
	bool is_version = false;

	for (size_t i = c->at; i-- > from;) {
		const uint8_t *code = c->code + i;

		is_version |= code[0] == 0x89 && OPERAND_MODE(code[1]) == 1 &&
			      OPERAND_REGISTER(code[1]) == c->number && code[2] == CO_VERSION;
		if (code[0] != 0x8b || code[1] != (c->number << 3 | c->base))
			continue;
		*ret = i;
		return is_version &&
		       (c->base != BASE_RIP || count_relative(c, i + 2) == c->counter);
	}
	return false;
}

/* lea counter(%rip), %base */
static uint64_t count_find_base(const struct count_code *c, size_t from, size_t to)
{
	for (size_t i = to; i-- > from;)
		if (c->code[i] == 0x48 && c->code[i + 1] == 0x8d &&
		    c->code[i + 2] == (c->base << 3 | BASE_RIP))
			return count_relative(c, i + 3);
	return 0;
}

uint64_t python_find_count(const uint8_t *code, size_t n, uint64_t address)
{
	struct count_code c = {.code = code, .address = address};
	uint64_t found = 0;

	for (size_t i = NEAR_BYTES; n > COUNT_MAX && i < n - COUNT_MAX; i++) {
		size_t load;

		if (!count_match(&c, i) || !count_find_load(&c, i - NEAR_BYTES / 2, &load))
			continue;
		if (c.base != BASE_RIP)
			c.counter = count_find_base(&c, i - NEAR_BYTES, load);
		if (found || !c.counter)
			return 0;
		found = c.counter;
	}
	return found;
}
