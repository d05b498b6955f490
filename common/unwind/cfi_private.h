/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_PRIVATE_H
#define PROFD_COMMON_UNWIND_CFI_PRIVATE_H

/* What the files of the compiler share: reading, states, records, programs and rows. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/unwind/cfi.h"

/*
 * Reads numbers from untrusted bytes. What runs over the end is 0 and sets .bad, which stays: so a
 * caller checks once after several reads, and before it uses any of them.
 */
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

/* --- states, cfi_state.c ---------------------------------------------------------------------- */

enum cfi_how {
	CFI_UNSPECIFIED,
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,     /* saved at CFA + offset */
	CFI_EXPRESSION, /* saved at an expression's value */
	CFI_REGISTER,   /* in the register whose number is `offset` */
	CFI_OTHER,      /* a value and not a place */
};

/* An expression's bytes in .eh_frame. */
struct cfi_block {
	uint32_t position, length;
};

struct cfi_column {
	enum cfi_how how;
	union {
		int64_t offset;
		struct cfi_block block;
	};
};

enum { CFI_COLUMN_FP, CFI_COLUMN_RA, CFI_COLUMN_BX, N_CFI_COLUMNS };

/*
 * What call frame information says at one instruction, of the few columns that a rule can hold.
 */
struct cfi_state {
	bool cfa_is_expression;
	struct cfi_block cfa_block;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_column columns[N_CFI_COLUMNS];
};

/* Register numbers (the ABI supplements' DWARF mappings); UINT64_MAX: the machine has none. */
struct cfi_machine {
	uint16_t machine;
	uint64_t fp, sp, bx, lr;
	uint64_t bases[N_RULE_BASES]; /* by enum rule_base */
};

/* NULL: a machine that no walk knows. */
const struct cfi_machine *cfi_machine_get(uint16_t machine);

/* --- records, cfi_record.c -------------------------------------------------------------------- */

/*
 * The records of .eh_frame (LSB 5, sections 10.6.1 and 10.5) and .debug_frame (DWARF 5, section
 * 6.4.1): common information entries (CIE), frame description entries (FDE), encoded pointers.
 * Knows nothing of the instructions in them.
 *
 * Positions are bytes from the beginning of .eh_frame, behind which is .debug_frame.
 */
enum {
	CFI_RECORD_OK,
	CFI_RECORD_CIE, /* cfi_record_next(): not an FDE */
	CFI_RECORD_END, /* terminator, or nothing follows */
	CFI_RECORD_MALFORMED,
};

struct cfi_cie {
	uint32_t position;
	uint32_t program, program_length; /* instructions */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column; /* register number */
	uint8_t pointer_encoding;
	bool has_length; /* FDEs have the length of their augmentation data */
	bool is_signal;
	bool is_valid;
	struct cfi_state initial; /* after the instructions; cfi_program_begin() fills it in */
};

struct cfi_fde {
	uint64_t start, length;           /* link-time addresses */
	uint32_t program, program_length; /* instructions */
};

/* Where .debug_frame begins, or all ends. */
static inline size_t cfi_debug_position(const struct cfi_input *input)
{
	return input->frame.length - input->debug_length;
}

/*
 * An encoded pointer (DW_EH_PE_*) in @input's .eh_frame. Indirect ones are given as they stand.
 * False: an encoding that means nothing here.
 */
bool cfi_pointer(const struct cfi_input *input, struct cfi_reader *r, uint8_t encoding,
		 uint64_t *ret);
/*
 * The record at @position, and where the next one is. CFI_RECORD_OK is an FDE: *ret_cie is the
 * position of its CIE, *ret_body what follows. One that is longer than the section is
 * CFI_RECORD_MALFORMED, and nothing is next: *ret_next is the section's end.
 */
int cfi_record_next(const struct cfi_input *input, size_t position, struct cfi_reader *ret_body,
		    uint32_t *ret_cie, size_t *ret_next);
/* Returns CFI_RECORD_OK or _MALFORMED; ret->position is set, .initial is not. */
int cfi_cie_parse(const struct cfi_input *input, size_t position, struct cfi_cie *ret);
/* @body: of a record of @cie. Returns CFI_RECORD_OK or _MALFORMED. */
int cfi_fde_parse(const struct cfi_input *input, const struct cfi_cie *cie, struct cfi_reader body,
		  struct cfi_fde *ret);

/* --- rows and programs, cfi_program.c --------------------------------------------------------- */

/* Builds struct cfi_rows: merges equal neighbours, gives each different rule one number. */
struct cfi_rows_builder {
	struct cfi_rows *rows; /* owned */
	struct cfi_limits limits;
	size_t rows_size, rules_size; /* room */
	uint32_t *buckets;            /* number of a rule + 1, 0 free; open addressing */
	size_t n_buckets;             /* a power of two */
};

/* Returns 0 or -ENOMEM. */
int cfi_rows_builder_init(struct cfi_rows_builder *b, const struct cfi_limits *limits);
void cfi_rows_builder_deinit(struct cfi_rows_builder *b);
/*
 * From @offset on @rule rules. @offset is above that of the last row. Returns CFI_E_OK,
 * _TOO_BIG (a limit was reached, or rules are made to be hard to find) or -ENOMEM.
 */
int cfi_rows_put(struct cfi_rows_builder *b, uint32_t offset, uint64_t rule);
/* Forgets all but the first @n_rows rows. */
void cfi_rows_cut(struct cfi_rows_builder *b, size_t n_rows);
/* Forgets all rows and rules. */
void cfi_rows_clear(struct cfi_rows_builder *b);

/* What an FDE's code is: [start, end) file offsets of [address, ...). */
struct cfi_range {
	uint64_t address;
	uint32_t start, end;
	uint32_t first; /* rows begin here: what is before it has been described already */
};

struct cfi_program {
	const struct cfi_input *input;
	const struct cfi_machine *machine;
	struct cfi_rows_builder *builder;
	bool follow_bx; /* also where the caller's rbx is */
};

/* The word of the rule that @state makes; rows that no rule can hold are counted. (cfi_state.c) */
uint64_t cfi_state_rule(const struct cfi_state *state, const struct cfi_program *p,
			const struct cfi_cie *cie);

/* Runs @cie's instructions: fills in cie->initial. Returns CFI_E_OK or _MALFORMED. */
int cfi_program_begin(const struct cfi_program *p, struct cfi_cie *cie);
/*
 * Runs [program, program + length) of .eh_frame over @range and adds its rows. Returns
 * CFI_E_OK, _MALFORMED, _TOO_BIG or -ENOMEM; unless that is CFI_E_OK, rows may have been added.
 */
int cfi_program_run(const struct cfi_program *p, const struct cfi_cie *cie, size_t program,
		    size_t length, const struct cfi_range *range);

#endif
