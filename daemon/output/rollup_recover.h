/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_ROLLUP_RECOVER_H
#define PROFD_OUTPUT_ROLLUP_RECOVER_H

#include <stddef.h>

#include "daemon/output/store.h"

/*
 * Removes what is in an hour's or a day's file, after the index was built; no roll-up is in work.
 * Takes as long as it takes, and twice @max_bytes of memory at most for what a file's samples refer
 * to. Returns 0 or negative errno.
 */
int rollup_recover(struct store *store, size_t max_bytes);

#endif
