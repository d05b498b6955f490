/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_SYMTAB_BUILD_H
#define PROFD_COMMON_SYMBOLS_SYMTAB_BUILD_H

/* How the readers of common/symbols and common/image make a table; nobody else includes this. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/symtab.h"

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
 * unsized, then by source, then as symtab.h says. Of equals in all but their names only the best
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
