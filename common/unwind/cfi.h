/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_H
#define PROFD_COMMON_UNWIND_CFI_H

/*
 * The compiler of call frame information: an image's .eh_frame and .debug_frame become rows (from
 * this file offset on, this rule) and a dictionary of their rules. Knows their format (LSB 5,
 * chapter 10; DWARF 5, section 6.4) and which of their rules a walk can follow. Of a function
 * that both describe, .eh_frame counts; where both are too much, .eh_frame alone does. Pure: no I/O
 * but read_code(), bounded in time and memory by the length of what it is given, whatever that
 * holds.
 *
 * Read without trust: a broken CIE or FDE is skipped and counted; what it would have ruled is
 * RULE_UNKNOWN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/unwind/rule.h"

/* Bytes of the image, and the link-time address of the first. */
struct cfi_section {
	const uint8_t *data;
	size_t length;
	uint64_t address;
};

/* An executable segment: link-time addresses to file offsets. */
struct cfi_segment {
	uint64_t address, offset, length;
};

/*
 * A rule from elsewhere: from the link-time address @address up to the next one's, for which
 * nothing else is asked. RULE_UNKNOWN: here it ends.
 */
struct cfi_own_rule {
	uint64_t address, rule;
};

struct cfi_input {
	uint16_t machine;               /* EM_X86_64 or EM_AARCH64 */
	struct cfi_section frame;       /* .eh_frame, and behind it .debug_frame; little-endian */
	size_t debug_length;            /* of the latter, in bytes */
	const struct cfi_own_rule *own; /* ascending within each run that RULE_UNKNOWN ends */
	size_t n_own;
	uint64_t got_address; /* base of DW_EH_PE_datarel in .eh_frame; 0: refuse those */
	const struct cfi_segment *segments;
	size_t n_segments;
	/*
	 * Or NULL. Reads @length bytes of the file at @offset: of a gap between two functions that
	 * may be a system call. False: they cannot be had.
	 */
	bool (*read_code)(const void *userdata, uint32_t offset, void *ret, size_t length);
	const void *read_code_userdata;
};

/* X(name): one counter each; malformed entries and what a walk will not be able to follow. */
#define CFI_COUNTERS(X)                                                            \
	X(fdes)       /* compiled */                                               \
	X(malformed)  /* CIEs and FDEs that were skipped */                        \
	X(expression) /* rows with an expression that is none of those known */    \
	X(unfit)      /* rows whose offsets or registers do not fit a rule word */ \
	X(rows)       /* before equal neighbours were merged */

#define CFI_COUNTER_FIELD(n) uint64_t n;
struct cfi_counters {
	CFI_COUNTERS(CFI_COUNTER_FIELD)
};

struct cfi_row {
	uint32_t offset; /* in the file */
	uint32_t rule;   /* index into rules */
};

/* Rows ascend strictly, neighbours have different rules; the last one is RULE_UNKNOWN. */
struct cfi_rows {
	struct cfi_row *rows;
	size_t n_rows;
	uint64_t *rules; /* rule.h words, all different */
	size_t n_rules;
	struct cfi_counters counters;
};

void cfi_rows_free(struct cfi_rows *rows);
DEFINE_CLEANUP(struct cfi_rows *, cfi_rows_free)

enum {
	CFI_E_OK,
	CFI_E_NONE,        /* no FDE and no rule, or none of use */
	CFI_E_UNSUPPORTED, /* machine */
	CFI_E_TOO_BIG,     /* code past the first 4 GiB of the file, or beyond max_rows/max_rules */
	CFI_E_MALFORMED,   /* of a record: it is passed over, and cfi_compile() never returns it */
};

struct cfi_limits {
	size_t max_rows, max_rules;
};

/* Returns CFI_E_* or -ENOMEM. *ret is the caller's. */
int cfi_compile(struct cfi_rows **ret, const struct cfi_input *input,
		const struct cfi_limits *limits);

/* What one FDE describes: link-time addresses, the end excluded. */
struct cfi_function {
	uint64_t start, end;
};

/*
 * The functions that have FDEs, ascending, none overlapping: of two that do, the first by address
 * is kept. *ret is malloc'ed and the caller's. Returns CFI_E_* or -ENOMEM.
 */
int cfi_list_functions(struct cfi_function **ret, size_t *ret_n, const struct cfi_input *input);

#endif
