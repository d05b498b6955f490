/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_KERNEL_H
#define PROFD_SYMBOLIZE_KERNEL_H

/*
 * Names of the kernel that runs here, from kallsyms, for a profile of the same kernel: that is what
 * the build id says (/sys/kernel/notes). It may have lain elsewhere in memory then: a mapping that
 * begins at _stext, or is as long as from there to _etext, tells where.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/symbolize/files.h"
#include "common/profile/profile.h"
#include "common/symbols/symtab.h"

/* Of the mapping of the kernel proper; perf appends the name of a symbol. */
#define KERNEL_PATH "[kernel.kallsyms]"

struct kernel;

enum {
	KERNEL_E_OK,
	KERNEL_E_OTHER,  /* not the one that runs here, as far as can be told */
	KERNEL_E_HIDDEN, /* kallsyms shows no addresses: kptr_restrict, no privileges */
	KERNEL_E_PLACE,  /* where it lay then is not known */
	KERNEL_E_GONE,   /* the module is not loaded */
};

/* Reads nothing yet. @files: borrowed. Returns 0 or negative errno. */
int kernel_new(struct kernel **ret, const struct files *files);
void kernel_free(struct kernel *k);
DEFINE_CLEANUP(struct kernel *, kernel_free)

/* Whether @m, with @build_id, is our kernel. Returns KERNEL_E_* or negative errno. */
int kernel_place(struct kernel *k, const struct profile_mapping *m, const char *build_id,
		 uint64_t *ret_shift);
/* After KERNEL_E_OK: the function at @address + @shift. */
bool kernel_find(const struct kernel *k, uint64_t address, struct symtab_symbol *ret);

#endif
