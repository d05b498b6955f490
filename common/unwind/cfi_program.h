/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_PROGRAM_H
#define PROFD_COMMON_UNWIND_CFI_PROGRAM_H

/* Runs call frame instructions (DWARF 5, section 6.4.2): each FDE's make rows. */
#include "common/unwind/cfi_record.h"
#include "common/unwind/cfi_rows.h"
#include "common/unwind/cfi_state.h"

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
	bool follow_bx;
};

/* Runs @cie's instructions: fills in cie->initial. Returns CFI_E_OK or _MALFORMED. */
int cfi_program_begin(const struct cfi_program *p, struct cfi_cie *cie);
/*
 * Runs [program, program + length) of .eh_frame over @range and adds its rows. Returns
 * CFI_E_OK, _MALFORMED, _TOO_BIG or -ENOMEM; unless that is CFI_E_OK, rows may have been added.
 */
int cfi_program_run(const struct cfi_program *p, const struct cfi_cie *cie, size_t program,
		    size_t length, const struct cfi_range *range);

#endif
