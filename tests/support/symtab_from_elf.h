/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SYMTAB_FROM_ELF_H
#define PROFD_TESTS_SYMTAB_FROM_ELF_H

/* The symbols of one table alone: what elf_names.c does with all of a file's. */
#include "common/symbols/symtab.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/elf/elf_symbols.h"

/*
 * Of .symtab, else of .dynsym, of the ELF file @fd (not mapped: a file cut short by its owner must
 * not raise SIGBUS), whose offset stays. Returns SYMTAB_E_* or negative errno.
 */
static inline int symtab_from_elf(struct symtab **ret, int fd)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(elf_image_deinit) struct elf_image image = {0};
	struct elf_table table = {0};
	int r;

	r = elf_image_open(&image, fd, ELF_IMAGE_BYTES_MAX);
	if (r)
		return r < 0 ? r : SYMTAB_E_NONE;
	/* In a relocatable file symbols are relative to sections that have no address yet. */
	if (!elf_image_is_linked(&image))
		return SYMTAB_E_NONE;
	for (int i = 0; i < 2 && list.n == 0; i++) {
		if (!elf_table_section(&image, i == 0 ? SHT_SYMTAB : SHT_DYNSYM, &table))
			continue;
		r = elf_symbols_collect(&image, &table, 0, 0, &list);
		if (r)
			return r;
	}
	return list.n ? symtab_build(ret, &list, elf_table_names_max(&table)) : SYMTAB_E_NONE;
}

#endif
