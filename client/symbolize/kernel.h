/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_KERNEL_H
#define PROFD_SYMBOLIZE_KERNEL_H

/*
 * Names of the kernel that runs here and of its modules, from kallsyms, for a profile of the same
 * kernel: that is what the build ids say (/sys/kernel/notes, /sys/module/NAME/notes), or the ids of
 * image_profile.h where there are none. They may have lain elsewhere in memory then, or be told by
 * the offset from their start, as image profiles do.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/symbolize/files.h"
#include "common/profile/profile.h"
#include "common/symbols/symtab.h"

/* Of the mapping of the kernel proper; perf appends the name of a symbol. A module's: "[name]". */
#define KERNEL_PATH "[kernel.kallsyms]"

struct kernel;

enum {
	KERNEL_E_OK,
	KERNEL_E_OTHER,  /* not the one that runs here, as far as can be told */
	KERNEL_E_HIDDEN, /* kallsyms shows no addresses: kptr_restrict, no privileges */
	KERNEL_E_PLACE,  /* where it lay then is not known */
	KERNEL_E_GONE,   /* the module is not loaded */
};

/* The kernel proper, or a module. */
struct kernel_part {
	struct symtab *symtab;
	uint64_t start, end; /* as it lies in memory now */
	bool is_module;
};

/*
 * Pure. Whether @path is the kernel proper's or may be a module's: what else the kernel writes in
 * brackets ("[vdso]") is not.
 */
bool kernel_is_path(const char *path);
/* Pure. The same of @m, which is at @path: in the kernel's half of the address space, or at 0. */
bool kernel_is_mapping(const struct profile_mapping *m, const char *path);

/* Reads nothing yet. @files: borrowed. Returns 0 or negative errno. */
int kernel_new(struct kernel **ret, const struct files *files);
void kernel_free(struct kernel *k);
DEFINE_CLEANUP(struct kernel *, kernel_free)

/*
 * What @path, with @id (hexadecimal, "" unknown), is of this kernel; *ret is the kernel's. Blocks
 * on /proc and /sys. Returns KERNEL_E_* (but for _PLACE) or negative errno.
 */
int kernel_get(struct kernel *k, const char *path, const char *id, const struct kernel_part **ret);
/* Pure. What to add to addresses of @m, which is @part. KERNEL_E_OK or _PLACE. */
int kernel_part_place(const struct kernel_part *part, const struct profile_mapping *m,
		      uint64_t *ret_shift);
/* The function at @address, as it lies in memory now. */
bool kernel_part_find(const struct kernel_part *part, uint64_t address, struct symtab_symbol *ret);

/* A line for people, behind "PATH: ". */
const char *kernel_error_text(int outcome);

#endif
