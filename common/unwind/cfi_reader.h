/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_READER_H
#define PROFD_COMMON_UNWIND_CFI_READER_H

/*
 * Reads numbers from untrusted bytes. What runs over the end is 0 and sets .bad, which stays: so a
 * caller checks once after several reads, and before it uses any of them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/unwind/cfi.h"

struct cfi_reader {
	const uint8_t *at, *end;
	bool bad;
};

/* The bytes of @section in [from, to); the caller has checked these. */
static inline struct cfi_reader cfi_reader_at(const struct cfi_section *section, size_t from,
					      size_t to)
{
	return (struct cfi_reader){.at = section->data + from, .end = section->data + to};
}

static inline size_t cfi_left(const struct cfi_reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline void cfi_skip(struct cfi_reader *r, uint64_t n)
{
	if (n > cfi_left(r)) {
		r->bad = true;
		r->at = r->end;
	} else {
		r->at += n;
	}
}

static inline uint8_t cfi_u8(struct cfi_reader *r)
{
	if (r->at == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

/* @bytes (1 to 8), little-endian. */
static inline uint64_t cfi_fixed(struct cfi_reader *r, size_t bytes)
{
	const uint8_t *at = r->at;

	cfi_skip(r, bytes);
	return r->bad ? 0 : bytes_number(at, bytes, false);
}

/*
 * LEB128 (DWARF 5, section 7.6). Bits beyond the 64th are dropped; so long a run of padding as no
 * assembler writes is bad, so that a number's cost does not depend on what follows.
 */
#define CFI_LEB_BITS_MAX (7 * 32)

static inline uint64_t cfi_leb(struct cfi_reader *r, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t value = 0;
	unsigned bits = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(r);
		if (bits < 64)
			value |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
		if (bits > CFI_LEB_BITS_MAX)
			r->bad = true;
	} while (byte & 0x80 && !r->bad);
	*ret_bits = bits;
	*ret_last = byte;
	return value;
}

static inline uint64_t cfi_uleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;

	return cfi_leb(r, &bits, &last);
}

static inline int64_t cfi_sleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;
	uint64_t value = cfi_leb(r, &bits, &last);

	if (last & 0x40 && bits < 64)
		value |= ~UINT64_C(0) << bits;
	return (int64_t)value;
}

#endif
