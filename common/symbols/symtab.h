/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_SYMTAB_H
#define PROFD_COMMON_SYMBOLS_SYMTAB_H

/*
 * Address to function name within one image: from .symtab, else .dynsym, of an ELF file, or from
 * kallsyms. Addresses are link-time virtual addresses (kallsyms: as they are).
 *
 * A look-up yields the symbol that covers the address. Symbols with a size cover as much; those
 * without (assembly, kallsyms) reach up to the next symbol, at most to the end of their section,
 * and never hide a sized one: inside of it they are labels. Of several that cover an address the
 * one that starts nearest wins; of several that start there global beats weak beats local, then
 * the longest, then the first by name (by its first KiB), so that results never depend on table
 * order. Versions ("memcpy@@GLIBC_2.14") are no part of names.
 *
 * A table is never changed: any number of threads may read it. It costs 12 bytes a symbol and the
 * names.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

enum {
	SYMTAB_E_OK,
	SYMTAB_E_NONE,      /* no symbols */
	SYMTAB_E_MALFORMED, /* no ELF file, one that libelf refuses, or tables past all reason */
};

struct symtab_symbol {
	const char *name;     /* owned by the table */
	uint64_t start, size; /* bytes; sizes past 4 GiB are cut */
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

bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_symbol *ret);
/*
 * Where symtab_find() finds nothing: all addresses from *ret_start to before *ret_end, @address
 * among them, have none. Not always the largest such range. UINT64_MAX ends the last one.
 */
void symtab_gap(const struct symtab *symtab, uint64_t address, uint64_t *ret_start,
		uint64_t *ret_end);
/*
 * The address of the symbol @name, e.g. "_stext". From kallsyms: of any symbol taken; from an ELF
 * file: of those that a look-up can yield. A linear search.
 */
bool symtab_address(const struct symtab *symtab, const char *name, uint64_t *ret);
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

enum symtab_rank { SYMTAB_LOCAL, SYMTAB_WEAK, SYMTAB_GLOBAL };

struct symtab_entry {
	uint64_t start;
	uint64_t size;    /* 0: up to the next symbol */
	uint64_t limit;   /* where an unsized one ends at the latest: the end of its section */
	const char *name; /* borrowed; NULL: only an end for the unsized one before it */
	uint32_t name_length;
	enum symtab_rank rank : 8;
	unsigned source : 7;  /* of several tables in one list: which; the lower are preferred */
	unsigned is_stub : 1; /* the name gets SYMTAB_STUB_SUFFIX */
};

static inline uint64_t symtab_entry_end(const struct symtab_entry *e)
{
	return e->start > UINT64_MAX - e->size ? UINT64_MAX : e->start + e->size;
}

struct symtab_entries {
	struct symtab_entry *entries; /* malloc'ed */
	size_t n, n_allocated;
};

void symtab_entries_deinit(struct symtab_entries *list);
/* Returns 0 or negative errno. */
int symtab_entries_add(struct symtab_entries *list, const struct symtab_entry *entry);

/*
 * By address; of several at one address the one that a look-up prefers comes last: sized before
 * unsized, then by source, then as said above. Of equals in all but their names only the best
 * has a fixed place. Time is bounded whatever the names: they count by their first KiB.
 */
void symtab_entries_sort(struct symtab_entries *list);

/*
 * Makes a table; @list is reordered. @keep_all: names that no look-up by address can yield stay,
 * for symtab_address(). @names_max bounds the names' bytes; what does not fit is left out.
 * Returns SYMTAB_E_OK, SYMTAB_E_NONE or negative errno.
 */
int symtab_build(struct symtab **ret, struct symtab_entries *list, bool keep_all, size_t names_max);

#endif
