/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_STATE_H
#define PROFD_COMMON_UNWIND_CFI_STATE_H

/*
 * What call frame information says at one instruction, of the few columns that a rule can hold; and
 * which rule that makes.
 */
#include "common/unwind/cfi.h"

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

struct cfi_state {
	bool has_word;
	uint64_t word; /* CFI_RULE's */
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

struct cfi_rule_options {
	const struct cfi_input *input;
	const struct cfi_machine *machine;
	uint64_t return_column;
	bool is_signal;                /* the frame is a signal's restorer */
	bool follow_bx;                /* also where the caller's rbx is */
	struct cfi_counters *counters; /* of rows that no rule can hold */
};

/* The rule's word. */
uint64_t cfi_state_rule(const struct cfi_state *state, const struct cfi_rule_options *options);

#endif
