/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TEST_CFI_BYTES_H
#define PROFD_TEST_CFI_BYTES_H

/*
 * Writes .eh_frame by hand, for tests: one executable segment of 4 KiB at TEXT, whose file offset
 * is TEXT_OFFSET; .eh_frame at FRAME. FDEs name functions by their distance from TEXT. Behind
 * <cmocka.h>.
 */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "common/unwind/cfi.h"

#define TEXT        UINT64_C(0x401000)
#define TEXT_OFFSET 0x1000
#define TEXT_BYTES  0x1000
#define FRAME       UINT64_C(0x500000)

struct bytes {
	uint8_t data[65536];
	size_t n;
};

struct section {
	struct bytes frame;
	size_t debug_length; /* bytes at the end that are .debug_frame */
	size_t cie;          /* position of the last one */
	uint8_t encoding;
	struct cfi_segment segment;
	uint16_t machine;
};

static inline void put(struct bytes *b, uint64_t value, unsigned n)
{
	assert_true(b->n + n <= sizeof(b->data));
	for (unsigned i = 0; i < n; i++)
		b->data[b->n++] = (uint8_t)(value >> (8 * i));
}

static inline void put_bytes(struct bytes *b, const void *data, size_t n)
{
	assert_true(b->n + n <= sizeof(b->data));
	memcpy(b->data + b->n, data, n);
	b->n += n;
}

static inline void put_uleb(struct bytes *b, uint64_t value)
{
	do {
		put(b, (value & 0x7f) | (value > 0x7f ? 0x80 : 0), 1);
		value >>= 7;
	} while (value);
}

/* Returns where the record's length stands. */
static inline size_t begin_record(struct section *s)
{
	put(&s->frame, 0, 4);
	return s->frame.n - 4;
}

static inline void end_record(struct section *s, size_t at)
{
	uint32_t length;

	while (s->frame.n & 7)
		put(&s->frame, 0, 1);
	length = (uint32_t)(s->frame.n - at - 4);
	memcpy(s->frame.data + at, &length, 4);
}

static inline void section_init(struct section *s, uint16_t machine)
{
	memset(s, 0, sizeof(*s));
	s->machine = machine;
	s->encoding = 0x1b;
	s->segment = (struct cfi_segment){TEXT, TEXT_OFFSET, TEXT_BYTES};
}

/* Version 1; @letters behind 'z' and 'R'. */
static inline void put_cie(struct section *s, const char *letters, unsigned return_column,
			   const void *program, size_t length)
{
	size_t at = begin_record(s);

	s->cie = at;
	put(&s->frame, 0, 4);
	put(&s->frame, 1, 1);
	put_bytes(&s->frame, "zR", 2);
	put_bytes(&s->frame, letters, strlen(letters) + 1);
	put_uleb(&s->frame, s->machine == EM_AARCH64 ? 4 : 1);
	put(&s->frame, 0x78, 1); /* -8 */
	put(&s->frame, return_column, 1);
	put_uleb(&s->frame, 1);
	put(&s->frame, s->encoding, 1);
	put_bytes(&s->frame, program, length);
	end_record(s, at);
}

/* What compilers write: CFA = rsp + 8, return address at CFA - 8; on aarch64 CFA = sp. */
static inline void put_usual_cie(struct section *s)
{
	if (s->machine == EM_AARCH64)
		put_cie(s, "", 30, "\x0c\x1f\x00", 3);
	else
		put_cie(s, "", 16, "\x0c\x07\x08\x90\x01", 5);
}

static inline size_t put_fde(struct section *s, uint64_t from, uint64_t length, const void *program,
			     size_t n)
{
	size_t at = begin_record(s);

	put(&s->frame, s->frame.n - s->cie, 4);
	put(&s->frame, TEXT + from - (FRAME + s->frame.n), 4);
	put(&s->frame, length, 4);
	put_uleb(&s->frame, 0);
	put_bytes(&s->frame, program, n);
	end_record(s, at);
	return at;
}

static inline struct cfi_input section_input(const struct section *s)
{
	return (struct cfi_input){
		.machine = s->machine,
		.frame = {s->frame.data, s->frame.n, FRAME},
		.debug_length = s->debug_length,
		.segments = &s->segment,
		.n_segments = 1,
	};
}

/* Returns what cfi_compile() does; rows are in order, and no two neighbours are equal. */
static inline int section_compile(const struct section *s, struct cfi_rows **ret)
{
	const struct cfi_limits limits = {.max_rows = 1 << 20, .max_rules = 1 << 20};
	const struct cfi_input input = section_input(s);
	int r = cfi_compile(ret, &input, &limits);

	for (size_t i = 1; !r && i < (*ret)->n_rows; i++) {
		const struct cfi_row *row = &(*ret)->rows[i];

		assert_true(row[-1].offset < row->offset && row[-1].rule != row->rule);
	}
	return r;
}

/* The rule at TEXT + @at. */
static inline uint64_t rule_at(const struct cfi_rows *rows, uint64_t at)
{
	uint64_t rule = RULE_WORD(RULE_UNKNOWN);

	for (size_t i = 0; i < rows->n_rows && rows->rows[i].offset <= TEXT_OFFSET + at; i++)
		rule = rows->rules[rows->rows[i].rule];
	return rule;
}

/* RULE_CFA, return address at CFA - 8, frame pointer as it was. */
static inline uint64_t plain(unsigned base, int offset)
{
	const struct rule rule = {
		.kind = RULE_CFA, .base = base, .cfa_offset = offset, .ra_offset = -8};

	return rule_pack(&rule);
}

#endif
