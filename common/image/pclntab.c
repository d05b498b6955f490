/* SPDX-License-Identifier: MIT */

/*
 * A header, and from there in the order of addresses two numbers for each function, its address and
 * where more is said of it; an address ends the last one. More is, first of all, the address again
 * and the offset of its name. Numbers are pointers, or of 32 bits since Go 1.18.
 */
#include "common/image/pclntab.h"

#include <endian.h>
#include <string.h>

#define HEADER_BYTES 8
/* The least that is said of a function, with its two numbers. */
#define FUNCTION_BYTES 40

enum version { GO_1_2, GO_1_16, GO_1_18 };

static bool version_of(uint32_t magic, enum version *ret)
{
	switch (magic) {
	case 0xfffffffb:
		*ret = GO_1_2;
		return true;
	case 0xfffffffa:
		*ret = GO_1_16;
		return true;
	case 0xfffffff0: /* Go 1.18 */
	case 0xfffffff1: /* Go 1.20: the same but for what a traceback needs */
		*ret = GO_1_18;
		return true;
	default:
		return false;
	}
}

static uint32_t read_32(const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return le32toh(number);
}

/* Of @size bytes, 4 or 8, which are there. */
static uint64_t read_number(const uint8_t *at, unsigned size)
{
	uint64_t number;

	if (size == 4)
		return read_32(at);
	memcpy(&number, at, sizeof(number));
	return le64toh(number);
}

/* The header's field @i. */
static uint64_t field(const struct pclntab *t, unsigned i)
{
	return read_number(t->data + HEADER_BYTES + (size_t)i * t->pointer_size, t->pointer_size);
}

static unsigned entry_size(const struct pclntab *t)
{
	return t->text_at ? 4 : t->pointer_size;
}

/* All of a version's positions. False: they are not within the table. */
static bool find_parts(struct pclntab *t, enum version version)
{
	static const unsigned n_fields[] = {[GO_1_2] = 1, [GO_1_16] = 7, [GO_1_18] = 8};
	size_t header = HEADER_BYTES + (size_t)n_fields[version] * t->pointer_size;
	uint64_t names = 0, functions = header;

	if (header > t->length)
		return false;
	t->n_functions = field(t, 0);
	if (version == GO_1_16) {
		names = field(t, 2);
		functions = field(t, 6);
	} else if (version == GO_1_18) {
		t->text = field(t, 2);
		t->text_at = HEADER_BYTES + (size_t)2 * t->pointer_size;
		names = field(t, 3);
		functions = field(t, 7);
	}
	if (names > t->length || functions > t->length ||
	    t->n_functions > (t->length - functions) / FUNCTION_BYTES)
		return false;
	t->names = names;
	t->functions = functions;
	t->code_at = version == GO_1_2 ? 0 : functions;
	return true;
}

bool pclntab_parse(const uint8_t *data, size_t length, struct pclntab *ret)
{
	enum version version;

	if (length < HEADER_BYTES || !version_of(read_32(data), &version) || data[4] || data[5] ||
	    (data[6] != 1 && data[6] != 2 && data[6] != 4) || (data[7] != 4 && data[7] != 8))
		return false;
	*ret = (struct pclntab){.data = data, .length = length, .pointer_size = data[7]};
	return find_parts(ret, version);
}

static bool read_name(const struct pclntab *t, uint64_t at, struct pclntab_function *ret)
{
	size_t n;

	if (at >= t->length - t->names)
		return false;
	ret->name = (const char *)t->data + t->names + at;
	n = strnlen(ret->name, t->length - t->names - at);
	ret->name_length = n < SYMTAB_NAME_MAX ? (uint32_t)n : SYMTAB_NAME_MAX;
	return n > 0 && n < t->length - t->names - at;
}

bool pclntab_function(const struct pclntab *t, uint64_t i, struct pclntab_function *ret)
{
	unsigned size = entry_size(t);
	/* Three numbers are there: FUNCTION_BYTES of each function are. */
	const uint8_t *entry = t->data + t->functions + 2 * i * size;
	uint64_t at = read_number(entry + size, size);
	size_t length = t->length - t->code_at;

	ret->start = t->text + read_number(entry, size);
	ret->end = t->text + read_number(entry + (size_t)2 * size, size);
	if (ret->start >= ret->end || at > length || length - at < (size_t)size + 4)
		return false;
	return read_name(t, read_32(t->data + t->code_at + at + size), ret);
}
