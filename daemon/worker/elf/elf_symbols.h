/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_ELF_SYMBOLS_H
#define PROFD_DAEMON_WORKER_ELF_ELF_SYMBOLS_H

/*
 * The symbol tables of an ELF file, and which of their symbols are functions: STT_FUNC and
 * STT_GNU_IFUNC, and untyped symbols in executable sections, as assembly leaves them, but for the
 * marks that compilers and linkers need for themselves. Without section headers, which no process
 * maps and some files are stripped of, .dynsym is left.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/symtab.h"
#include "daemon/worker/elf/elf_image.h"

/* A browser's 1.7 million are the most known. */
#define ELF_TABLE_SYMBOLS_MAX (1u << 22)

/* A table of symbols with its names, as libelf holds them. */
struct elf_table {
	Elf_Data *symbols, *names;
	size_t n;
	/*
	 * How many bytes of names may still be given out. Names may share their ends in the file,
	 * so a million symbols may each have a long one out of a small section: time and memory
	 * are to go by the file's size.
	 */
	size_t names_left;
};

/* The first table of @type, SHT_SYMTAB or SHT_DYNSYM. False: none, or one that cannot be read. */
bool elf_table_section(struct elf_image *image, uint32_t type, struct elf_table *ret);
/* .dynsym by way of the dynamic segment, for images without section headers. False as above. */
bool elf_table_dynamic(struct elf_image *image, struct elf_table *ret);

/* What names_left was in the beginning: more than the names of honest files take. */
size_t elf_table_names_max(const struct elf_table *table);
/*
 * The name at @offset of the table's names, without the version that the static linker appends
 * ("memcpy@@GLIBC_2.14"). False if it is empty, not within them, or too many were asked for.
 */
bool elf_table_name(struct elf_table *table, size_t offset, const char **ret, uint32_t *ret_length);

/*
 * Adds the functions of @table to @list, each @distance further up; their names are libelf's.
 * @source: struct symtab_entry's. Returns 0 or negative errno.
 */
int elf_symbols_collect(const struct elf_image *image, struct elf_table *table, uint64_t distance,
			unsigned source, struct symtab_entries *list);

/*
 * The stubs through which a program calls other libraries. No symbol names them, but each jumps to
 * where a slot of the global offset table points, and the relocation that fills the slot has the
 * name. So the stubs are found by reading their code, which holds for every linker and for every
 * flavour of stub: lazy or not, with landing pads for indirect jumps (IBT, BTI) or signed (PAC).
 *
 * x86-64 and aarch64. (System V ABI supplements of both: "Procedure Linkage Table".)
 */

/* A slot with a name. */
struct plt_slot {
	uint64_t address;
	const char *name; /* borrowed */
	uint32_t name_length;
};

struct plt_code {
	const uint8_t *code;
	size_t length;
	uint64_t address; /* link-time, of the first byte */
	uint16_t machine;
	uint64_t got;                 /* of 32-bit x86: the address of its global offset table */
	unsigned entry_size;          /* bytes of a stub on x86; not 8 or 16: by their look */
	const struct plt_slot *slots; /* by address */
	size_t n_slots;
	const uint64_t *jump_slots; /* addresses of slots, in the order of .rela.plt or .rel.plt */
	size_t n_jump_slots;
};

/* Pure. Adds each stub with a name to @list. Returns 0 or -ENOMEM. */
int plt_scan(const struct plt_code *code, unsigned source, struct symtab_entries *list);

/*
 * The same for all stubs of an image that has section headers (nothing else tells where they are).
 * A slot that a resolver function of the image fills has the name of that; @list has the image's
 * functions, and is sorted. @dynamic: .dynsym, its names_left as if new; NULL: none. Returns 0 or
 * -ENOMEM.
 */
int plt_collect(struct elf_image *image, struct elf_table *dynamic, unsigned source,
		struct symtab_entries *list);

#endif
