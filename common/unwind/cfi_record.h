/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_RECORD_H
#define PROFD_COMMON_UNWIND_CFI_RECORD_H

/*
 * The records of .eh_frame (LSB 5, sections 10.6.1 and 10.5): common information entries (CIE),
 * frame description entries (FDE), encoded pointers; and the sorted table in .eh_frame_hdr, a list
 * of FDEs. Knows nothing of the instructions in them.
 *
 * Positions are bytes from the beginning of .eh_frame.
 */
#include "common/unwind/cfi.h"
#include "common/unwind/cfi_reader.h"
#include "common/unwind/cfi_state.h"

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
	struct cfi_state initial; /* after the instructions; cfi_program.h fills it in */
};

struct cfi_fde {
	uint64_t start, length;           /* link-time addresses */
	uint32_t program, program_length; /* instructions */
};

/*
 * An encoded pointer (DW_EH_PE_*): in @input's .eh_frame, or (@is_header) in .eh_frame_hdr.
 * Indirect ones are given as they stand. False: an encoding that means nothing here.
 */
bool cfi_pointer(const struct cfi_input *input, bool is_header, struct cfi_reader *r,
		 uint8_t encoding, uint64_t *ret);
/*
 * The record at @position, and where the next one is. CFI_RECORD_OK is an FDE: *ret_cie is the
 * position of its CIE, *ret_body what follows. One that is longer than the section is
 * CFI_RECORD_MALFORMED, and nothing is next: *ret_next is the section's length.
 */
int cfi_record_next(const struct cfi_input *input, size_t position, struct cfi_reader *ret_body,
		    uint32_t *ret_cie, size_t *ret_next);
/* Returns CFI_RECORD_OK or _MALFORMED; ret->position is set, .initial is not. */
int cfi_cie_parse(const struct cfi_input *input, size_t position, struct cfi_cie *ret);
/* @body: of a record of @cie. Returns CFI_RECORD_OK or _MALFORMED. */
int cfi_fde_parse(const struct cfi_input *input, const struct cfi_cie *cie, struct cfi_reader body,
		  struct cfi_fde *ret);

/* The table of .eh_frame_hdr: what remains of it. */
struct cfi_index {
	struct cfi_reader at;
	uint8_t encoding;
	uint64_t n;
};

/* False: there is none, or none that is to be trusted. */
bool cfi_index_init(struct cfi_index *index, const struct cfi_input *input);
/* The position of the next FDE, UINT32_MAX: outside of .eh_frame. False: there are no more. */
bool cfi_index_next(struct cfi_index *index, const struct cfi_input *input, uint32_t *ret);

#endif
