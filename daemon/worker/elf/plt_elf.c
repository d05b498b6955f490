/* SPDX-License-Identifier: MIT */

/* What plt_scan() wants to know, out of an ELF file. */
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"
#include "daemon/worker/elf/plt.h"

#define CODE_MAX        (4u << 20)   /* bytes of a section of stubs; 65,000 make 1 MiB */
#define RELOCATIONS_MAX (128u << 20) /* bytes of a section; nearly all of them are no slots */
#define SLOTS_MAX       (1u << 20)

struct slots {
	struct plt_slot *items;
	uint64_t *jumps;
	size_t n, n_allocated, n_jumps;
};

static void plt_slots_deinit(struct slots *s)
{
	free(s->items);
	free(s->jumps);
}

enum slot_kind { SLOT_NONE, SLOT_NAMED, SLOT_RESOLVER };

static enum slot_kind plt_slot_kind(uint16_t machine, const GElf_Rela *rela)
{
	uint64_t type = GELF_R_TYPE(rela->r_info);

	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ? SLOT_NAMED
		       : type == R_X86_64_IRELATIVE                            ? SLOT_RESOLVER
									       : SLOT_NONE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ? SLOT_NAMED
	       : type == R_AARCH64_IRELATIVE                             ? SLOT_RESOLVER
									 : SLOT_NONE;
}

/* The symbol that starts at @address and is preferred of those; NULL: none. */
static const struct symtab_entry *plt_find_resolver(const struct symtab_entry *entries, size_t n,
						    uint64_t address)
{
	size_t before = partition_point(n, i, entries[i].start <= address);

	return before > 0 && entries[before - 1].start == address ? &entries[before - 1] : NULL;
}

static bool plt_name_slot(struct elf_table *dynamic, const struct symtab_entries *functions,
			  enum slot_kind kind, const GElf_Rela *rela, struct plt_slot *ret)
{
	const struct symtab_entry *resolver;
	uint64_t symbol = GELF_R_SYM(rela->r_info);
	GElf_Sym sym;

	ret->address = rela->r_offset;
	if (kind == SLOT_NAMED)
		return dynamic && symbol < dynamic->n &&
		       gelf_getsym(dynamic->symbols, (int)symbol, &sym) &&
		       elf_table_name(dynamic, sym.st_name, &ret->name, &ret->name_length);
	resolver = plt_find_resolver(functions->entries, functions->n, (uint64_t)rela->r_addend);
	if (!resolver)
		return false;
	ret->name = resolver->name;
	ret->name_length = resolver->name_length;
	return true;
}

static int plt_read_relocations(struct elf_image *image, const char *section, bool in_order,
				struct elf_table *dynamic, const struct symtab_entries *functions,
				struct slots *slots)
{
	Elf_Data *data = elf_image_data(image, elf_image_find(image, SHT_RELA, section),
					RELOCATIONS_MAX);
	size_t n = data ? data->d_size / gelf_fsize(image->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;

	if (in_order && n > 0) {
		slots->jumps = calloc(n < SLOTS_MAX ? n : SLOTS_MAX, sizeof(*slots->jumps));
		if (!slots->jumps)
			return error_origin(-ENOMEM);
	}
	for (size_t i = 0; i < n && slots->n < SLOTS_MAX; i++) {
		enum slot_kind kind;
		struct plt_slot slot;
		GElf_Rela rela;

		if (!gelf_getrela(data, (int)i, &rela))
			continue;
		if (in_order && i < SLOTS_MAX)
			slots->jumps[slots->n_jumps++] = rela.r_offset;
		kind = plt_slot_kind(image->header.e_machine, &rela);
		if (kind == SLOT_NONE || !plt_name_slot(dynamic, functions, kind, &rela, &slot))
			continue;
		if (room_append(&slots->items, &slots->n_allocated, &slots->n, slot))
			return -ENOMEM;
	}
	return 0;
}

/* Names lie in the order of the file's table: nothing depends on that of its relocations. */
static int plt_compare_slots(const void *pa, const void *pb)
{
	const struct plt_slot *a = pa, *b = pb;

	return order_of(a->address, b->address) ?: order_of((uintptr_t)a->name, (uintptr_t)b->name);
}

int plt_collect(struct elf_image *image, struct elf_table *dynamic, unsigned source,
		struct symtab_entries *list)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	cleanup(plt_slots_deinit) struct slots slots = {0};
	int r;

	if (image->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (image->header.e_machine != EM_X86_64 && image->header.e_machine != EM_AARCH64))
		return 0;
	r = plt_read_relocations(image, ".rela.plt", true, dynamic, list, &slots)
		    ?: plt_read_relocations(image, ".rela.dyn", false, dynamic, list, &slots);
	if (r || slots.n == 0)
		return r;
	qsort(slots.items, slots.n, sizeof(*slots.items), plt_compare_slots);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !r; i++) {
		size_t s = elf_image_find(image, SHT_PROGBITS, sections[i]);
		Elf_Data *data = elf_image_data(image, s, CODE_MAX);

		if (!data)
			continue;
		r = plt_scan(&(struct plt_code){.code = data->d_buf,
						.length = data->d_size,
						.address = image->sections[s].address,
						.machine = image->header.e_machine,
						.entry_size =
							(unsigned)image->sections[s].entry_size,
						.slots = slots.items,
						.n_slots = slots.n,
						.jump_slots = slots.jumps,
						.n_jump_slots = slots.n_jumps},
			     source, list);
	}
	return r;
}
