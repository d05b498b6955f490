/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_KERNEL_NAMES_H
#define PROFD_OUTPUT_KERNEL_NAMES_H

/* Names of the kernel's addresses, from kallsyms. */
#include "common/symbols/symtab.h"
#include "daemon/output/asker.h"
#include "daemon/output/symbols_names.h"

/*
 * Adds to @names what @symtab (NULL: there are no symbols) says of @addresses (@n, ascending), none
 * of which is known. Returns 0 or negative errno.
 */
int kernel_names_add(struct asker *asker, const struct symtab *symtab, const uint64_t *addresses,
		     size_t n, struct symbols_names *names);

#endif
