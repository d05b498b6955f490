/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_PLT_H
#define PROFD_DAEMON_WORKER_ELF_PLT_H

/*
 * The stubs through which a program calls other libraries. No symbol names them, but each jumps to
 * where a slot of the global offset table points, and the relocation that fills the slot has the
 * name. So the stubs are found by reading their code, which holds for every linker and for every
 * flavour of stub: lazy or not, with landing pads for indirect jumps (IBT, BTI) or signed (PAC).
 *
 * x86-64 and aarch64. (System V ABI supplements of both: "Procedure Linkage Table".)
 */
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/symtab_build.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/elf/elf_symbols.h"

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
	unsigned entry_size;          /* bytes of a stub on x86-64; not 8 or 16: by their look */
	const struct plt_slot *slots; /* by address */
	size_t n_slots;
	const uint64_t *jump_slots; /* addresses of slots, in the order of .rela.plt */
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
