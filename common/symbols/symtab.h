/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_SYMTAB_H
#define PROFD_COMMON_SYMBOLS_SYMTAB_H

/*
 * Address to function name within one image, from the tables of an ELF file or from kallsyms.
 * Addresses are link-time virtual addresses (kallsyms: as they are).
 *
 * A look-up yields the symbol that covers the address. Symbols with a size cover as much; those
 * without (assembly, kallsyms) reach up to the next symbol, at most to the end of their section,
 * and never hide a sized one: inside of it they are labels. Of several that cover an address one of
 * the lowest source wins; of these the one that starts nearest; of several that start there global
 * beats weak beats local, then the longest, then the first by name (by its first KiB), so that
 * results never depend on table order. Versions ("memcpy@@GLIBC_2.14") are no part of names.
 *
 * A table is never changed: any number of threads may read it. It costs 17 bytes and the name for
 * each range of addresses that has one answer, two for a symbol at most.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

enum {
	SYMTAB_E_OK,
	SYMTAB_E_NONE, /* no symbols */
};

struct symtab_symbol {
	const char *name; /* owned by the table */
	/*
	 * Its part around the address: all of these addresses have this answer. That is the whole
	 * symbol, but where others lie inside of it. Bytes; sizes past 4 GiB are cut.
	 */
	uint64_t start, size;
	unsigned source; /* struct symtab_entry's */
};

struct symtab;

/*
 * Pure: text in /proc/kallsyms' format. Takes text symbols (t, T, w, W) only. @module: NULL for
 * the kernel proper, else the symbols of that module. SYMTAB_E_NONE too when all addresses are 0
 * (kptr_restrict). The last symbol of the table has no end: ask for addresses of the kernel or the
 * module only. Returns SYMTAB_E_OK, SYMTAB_E_NONE or negative errno.
 */
int symtab_from_kallsyms(struct symtab **ret, const char *text, size_t length, const char *module);
void symtab_free(struct symtab *symtab);
DEFINE_CLEANUP(struct symtab *, symtab_free)

/*
 * False: there is none, and *ret has the range around @address in which there is none; UINT64_MAX
 * ends the last one.
 */
bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_symbol *ret);
/* From where to where the kernel's own code lies, by kallsyms. False: it does not say. */
bool symtab_kernel_text(const struct symtab *symtab, uint64_t *ret_start, uint64_t *ret_end);
/* Memory held, bytes. */
size_t symtab_bytes(const struct symtab *symtab);

/* The text of /proc/modules: "name size uses users state address" (address hexadecimal). Pure. */
struct kernel_module_line {
	const char *name; /* in the text, not ended by a NUL */
	size_t name_length;
	uint64_t start, size; /* start: 0 for whom the kernel hides it */
};

/*
 * The next line: *at moves behind it; false at the end of the text. A line that is not understood
 * yields an empty name.
 */
bool kernel_module_next(const char **at, const char *end, struct kernel_module_line *ret);

/* --- for readers that make a table ------------------------------------------------------------ */

#define SYMTAB_NAME_MAX    65535 /* longer names are cut */
#define SYMTAB_STUB_SUFFIX "@plt"
#define SYMTAB_SOURCES     8

enum symtab_rank { SYMTAB_LOCAL, SYMTAB_WEAK, SYMTAB_GLOBAL };

struct symtab_entry {
	uint64_t start;
	uint64_t size;    /* 0: up to the next symbol */
	uint64_t limit;   /* where an unsized one ends at the latest: the end of its section */
	const char *name; /* borrowed; NULL: only an end for the unsized one before it */
	uint32_t name_length;
	enum symtab_rank rank : 8;
	unsigned source : 7;  /* below SYMTAB_SOURCES: which table; the lower are preferred */
	unsigned is_stub : 1; /* the name gets SYMTAB_STUB_SUFFIX */
};

static inline uint64_t symtab_entry_end(const struct symtab_entry *e)
{
	return e->start > UINT64_MAX - e->size ? UINT64_MAX : e->start + e->size;
}

struct symtab_entries {
	struct symtab_entry *entries; /* malloc'ed */
	size_t n, n_allocated;
	size_t n_sorted; /* so many of the first are */
};

void symtab_entries_deinit(struct symtab_entries *list);
/*
 * No look-up finds what lies in a sized one of a lower source: if that is among those that have
 * been sorted, the entry is left out. Returns 0 or negative errno.
 */
int symtab_entries_add(struct symtab_entries *list, const struct symtab_entry *entry);

/*
 * By address; of several at one address the one that a look-up prefers comes last: sized before
 * unsized, then by source, then as said above. Of equals in all but their names only the best
 * has a fixed place. Time is bounded whatever the names: they count by their first KiB.
 */
void symtab_entries_sort(struct symtab_entries *list);

/*
 * Makes a table, maybe an empty one; @list is sorted. @names_max bounds the names' bytes, each
 * with two more; what does not fit is left out. Returns 0 or negative errno.
 */
int symtab_build(struct symtab **ret, struct symtab_entries *list, size_t names_max);

#endif
