/* SPDX-License-Identifier: MIT */
/*
 * Code is scanned stub by stub; each machine has its own rule for where a stub ends and which
 * slot it jumps to. The slot's address leads to the name by binary search. Which slots there are,
 * and what they are called, relocations tell.
 */
#include "daemon/worker/elf/elf_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"

struct stub {
	size_t at, size; /* within the code */
};

static int compare_address(const void *key, const void *slot)
{
	return order_of(*(const uint64_t *)key, ((const struct plt_slot *)slot)->address);
}

static int add_stub(const struct plt_code *c, struct stub stub, uint64_t slot_address,
		    unsigned source, struct symtab_entries *list)
{
	const struct plt_slot *slot;
	struct symtab_entry entry;

	slot = bsearch(&slot_address, c->slots, c->n_slots, sizeof(*slot), compare_address);
	if (!slot)
		return 0;
	entry = (struct symtab_entry){
		.start = c->address + stub.at,
		.size = stub.size,
		.name = slot->name,
		.name_length = slot->name_length,
		.rank = SYMTAB_GLOBAL,
		.source = source & 0x7f,
		.is_stub = 1,
	};
	return symtab_entries_add(list, &entry);
}

/* --- x86 -------------------------------------------------------------------------------------- */

static int32_t get_s32(const uint8_t *at)
{
	return (int32_t)(uint32_t)bytes_number(at, 4, false);
}

#define REL_BYTES 8 /* of a relocation of 32-bit files, without addend */

/* `jmp *slot`, or relative to the global offset table in 32-bit code that runs anywhere. */
static bool x86_is_jump(const struct plt_code *c, const uint8_t *code)
{
	return code[0] == 0xff && (code[1] == 0x25 || (code[1] == 0xa3 && c->machine == EM_386));
}

/* The short ones are a jump and two bytes that do nothing, 66 90. */
static size_t x86_size(const struct plt_code *c, const uint8_t *code)
{
	if (c->entry_size == 8 || c->entry_size == 16)
		return c->entry_size;
	return x86_is_jump(c, code) && code[6] == 0x66 && code[7] == 0x90 ? 8 : 16;
}

/* The slot of the jump that is @at bytes into the code. */
static uint64_t x86_slot(const struct plt_code *c, size_t at)
{
	int32_t n = get_s32(c->code + at + 2);

	if (c->machine == EM_X86_64)
		return c->address + at + 6 + (uint64_t)(int64_t)n;
	return (uint32_t)n + (c->code[at + 1] == 0xa3 ? (uint32_t)c->got : 0);
}

/*
 * A stub has a jump in it, on x86-64 `jmp *slot(%rip)`, ff 25 and the distance from its end. With
 * landing pads, the lazy half of a stub stands alone and has no more than `push $n` in front of its
 * jump (68 and the number of its relocation, in 32-bit code its bytes), maybe behind an endbr.
 */
static int scan_x86(const struct plt_code *c, unsigned source, struct symtab_entries *list)
{
	const uint8_t endbr[4] = {0xf3, 0x0f, 0x1e, c->machine == EM_X86_64 ? 0xfa : 0xfb};

	for (size_t at = 0, size; c->length - at >= 8; at += size) {
		const uint8_t *code = c->code + at;
		size_t push = memcmp(code, endbr, 4) == 0 ? 4 : 0, i = 0;
		int r = 0;

		size = x86_size(c, code);
		if (c->length - at < size)
			break;
		while (i + 6 <= size && !x86_is_jump(c, code + i))
			i++;
		if (i + 6 <= size) {
			r = add_stub(c, (struct stub){at, size}, x86_slot(c, at + i), source, list);
		} else if (push + 5 <= size && code[push] == 0x68) {
			uint32_t n = (uint32_t)get_s32(code + push + 1);

			n = c->machine == EM_386 ? n / REL_BYTES : n;
			if (n < c->n_jump_slots)
				r = add_stub(c, (struct stub){at, size}, c->jump_slots[n], source,
					     list);
		}
		if (r)
			return r;
	}
	return 0;
}

/* --- aarch64 ---------------------------------------------------------------------------------- */

#define A64_BTI_C  0xd503245fu
#define A64_NOP    0xd503201fu
#define A64_BR_X17 0xd61f0220u
/* Instructions of a stub up to and with its jump: bti, adrp, ldr, add, autia1716, br. */
#define A64_STUB_MAX 6

static uint32_t a64_at(const struct plt_code *c, size_t i)
{
	return (uint32_t)get_s32(c->code + 4 * i);
}

/* `adrp x16, page` and `ldr x17, [x16, #offset]` at instruction @i: the slot's address. */
static bool a64_slot(const struct plt_code *c, size_t i, uint64_t *ret)
{
	uint32_t adrp = a64_at(c, i), ldr = a64_at(c, i + 1);
	uint64_t pages;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
	if (pages & 0x100000)
		pages |= ~(uint64_t)0x1fffff;
	*ret = ((c->address + 4 * i) & ~(uint64_t)0xfff) + (pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return true;
}

static int scan_aarch64(const struct plt_code *c, unsigned source, struct symtab_entries *list)
{
	size_t n = c->length / 4, next;

	for (size_t i = 0; i < n; i = next) {
		size_t load = a64_at(c, i) == A64_BTI_C ? i + 1 : i, end = load + 2;
		uint64_t slot;
		int r;

		next = i + 1;
		if (load + 2 > n || !a64_slot(c, load, &slot))
			continue;
		while (end < n && end < i + A64_STUB_MAX && a64_at(c, end) != A64_BR_X17)
			end++;
		if (end >= n || a64_at(c, end) != A64_BR_X17)
			continue;
		for (end++; end < n && a64_at(c, end) == A64_NOP;)
			end++;
		r = add_stub(c, (struct stub){4 * i, 4 * (end - i)}, slot, source, list);
		if (r)
			return r;
		next = end;
	}
	return 0;
}

int plt_scan(const struct plt_code *code, unsigned source, struct symtab_entries *list)
{
	if (code->machine == EM_X86_64 || code->machine == EM_386)
		return scan_x86(code, source, list);
	if (code->machine == EM_AARCH64)
		return scan_aarch64(code, source, list);
	return 0;
}

/* --- ELF files -------------------------------------------------------------------------------- */

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

enum slot_kind { PLT_NONE, PLT_NAMED, PLT_RESOLVER };

static enum slot_kind plt_slot_kind(uint16_t machine, const GElf_Rela *rela)
{
	uint64_t type = GELF_R_TYPE(rela->r_info);

	/* A resolver's address is in its slot there. */
	if (machine == EM_386)
		return type == R_386_JMP_SLOT || type == R_386_GLOB_DAT ? PLT_NAMED : PLT_NONE;
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ? PLT_NAMED
		       : type == R_X86_64_IRELATIVE                            ? PLT_RESOLVER
									       : PLT_NONE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ? PLT_NAMED
	       : type == R_AARCH64_IRELATIVE                             ? PLT_RESOLVER
									 : PLT_NONE;
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
	if (kind == PLT_NAMED)
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

static bool plt_get_relocation(Elf_Data *data, bool has_addend, size_t i, GElf_Rela *ret)
{
	GElf_Rel rel;

	if (has_addend)
		return gelf_getrela(data, (int)i, ret);
	if (!gelf_getrel(data, (int)i, &rel))
		return false;
	*ret = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
	return true;
}

/* @of: the rest of the section's name, which begins with .rela or .rel. */
static int plt_read_relocations(struct elf_image *image, const char *of, bool in_order,
				struct elf_table *dynamic, const struct symtab_entries *functions,
				struct slots *slots)
{
	bool has_addend = image->header.e_machine != EM_386;
	char name[16];
	Elf_Data *data;
	size_t n;

	snprintf(name, sizeof(name), ".rel%s%s", has_addend ? "a" : "", of);
	data = elf_image_data(image, elf_image_find(image, has_addend ? SHT_RELA : SHT_REL, name),
			      RELOCATIONS_MAX);
	n = data ? data->d_size / gelf_fsize(image->elf, has_addend ? ELF_T_RELA : ELF_T_REL, 1,
					     EV_CURRENT)
		 : 0;

	if (in_order && n > 0) {
		slots->jumps = calloc(n < SLOTS_MAX ? n : SLOTS_MAX, sizeof(*slots->jumps));
		if (!slots->jumps)
			return error_origin(-ENOMEM);
	}
	for (size_t i = 0; i < n && slots->n < SLOTS_MAX; i++) {
		enum slot_kind kind;
		struct plt_slot slot;
		GElf_Rela rela;

		if (!plt_get_relocation(data, has_addend, i, &rela))
			continue;
		if (in_order && i < SLOTS_MAX)
			slots->jumps[slots->n_jumps++] = rela.r_offset;
		kind = plt_slot_kind(image->header.e_machine, &rela);
		if (kind == PLT_NONE || !plt_name_slot(dynamic, functions, kind, &rela, &slot))
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

static bool plt_knows(const GElf_Ehdr *header)
{
	bool is_64 = header->e_ident[EI_CLASS] == ELFCLASS64;

	return is_64 ? header->e_machine == EM_X86_64 || header->e_machine == EM_AARCH64
		     : header->e_machine == EM_386;
}

/* What 32-bit code has in %ebx. */
static uint64_t plt_find_got(struct elf_image *image)
{
	size_t s = elf_image_find(image, SHT_PROGBITS, ".got.plt");

	s = s ? s : elf_image_find(image, SHT_PROGBITS, ".got");
	return s ? image->sections[s].sh_addr : 0;
}

int plt_collect(struct elf_image *image, struct elf_table *dynamic, unsigned source,
		struct symtab_entries *list)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	cleanup(plt_slots_deinit) struct slots slots = {0};
	int r;

	if (!plt_knows(&image->header))
		return 0;
	r = plt_read_relocations(image, ".plt", true, dynamic, list, &slots)
		    ?: plt_read_relocations(image, ".dyn", false, dynamic, list, &slots);
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
						.address = image->sections[s].sh_addr,
						.machine = image->header.e_machine,
						.got = plt_find_got(image),
						.entry_size =
							(unsigned)image->sections[s].sh_entsize,
						.slots = slots.items,
						.n_slots = slots.n,
						.jump_slots = slots.jumps,
						.n_jump_slots = slots.n_jumps},
			     source, list);
	}
	return r;
}
