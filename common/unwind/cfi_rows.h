/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_CFI_ROWS_H
#define PROFD_COMMON_UNWIND_CFI_ROWS_H

/* Builds struct cfi_rows: merges equal neighbours, gives each different rule one number. */
#include "common/unwind/cfi.h"

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

#endif
