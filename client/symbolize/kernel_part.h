/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_KERNEL_PART_H
#define PROFD_SYMBOLIZE_KERNEL_PART_H

/*
 * Symbols of the kernel proper (@path: KERNEL_PATH) or of a module ("[name]") that runs here, as
 * image profiles have them: by the offset from its start, so that it does not matter where it lay.
 * @id: the build id, or what image_id.h makes where there is none.
 */
#include <stdint.h>

#include "client/symbolize/files.h"
#include "client/symbolize/kernel.h"
#include "common/symbols/symtab.h"

struct kernel_part {
	struct symtab *symtab; /* owned */
	uint64_t start;        /* offset 0 */
};

/* *ret is to be deinitialized in any case. Returns KERNEL_E_* or negative errno. */
int kernel_part_init(struct kernel_part *ret, const struct files *files, const char *path,
		     const char *id);
/* Takes one of zeroes. */
void kernel_part_deinit(struct kernel_part *part);

#endif
