/* SPDX-License-Identifier: MIT */
/*
 * Code is scanned stub by stub; each machine has its own rule for where a stub ends and which
 * slot it jumps to. The slot's address leads to the name by binary search.
 */
#include "daemon/worker/elf/plt.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/order.h"

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

/* --- x86-64 ----------------------------------------------------------------------------------- */

static int32_t get_s32(const uint8_t *at)
{
	return (int32_t)(uint32_t)bytes_number(at, 4, false);
}

/* The short ones are a jump and two bytes that do nothing, 66 90. */
static size_t x86_64_size(const struct plt_code *c, const uint8_t *code)
{
	if (c->entry_size == 8 || c->entry_size == 16)
		return c->entry_size;
	return code[0] == 0xff && code[1] == 0x25 && code[6] == 0x66 && code[7] == 0x90 ? 8 : 16;
}

/*
 * A stub has `jmp *slot(%rip)` in it, ff 25 and the distance from its end.
 * With landing pads, the lazy half of a stub stands alone and has no more than `push $n` in front
 * of its jump (68 and the number of its relocation), maybe behind an endbr64.
 */
static int scan_x86_64(const struct plt_code *c, unsigned source, struct symtab_entries *list)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

	for (size_t at = 0, size; c->length - at >= 8; at += size) {
		const uint8_t *code = c->code + at;
		size_t push = memcmp(code, endbr64, 4) == 0 ? 4 : 0, i = 0;
		int r = 0;

		size = x86_64_size(c, code);
		if (c->length - at < size)
			break;
		while (i + 6 <= size && !(code[i] == 0xff && code[i + 1] == 0x25))
			i++;
		if (i + 6 <= size) {
			uint64_t next = c->address + at + i + 6;

			r = add_stub(c, (struct stub){at, size},
				     next + (uint64_t)(int64_t)get_s32(code + i + 2), source, list);
		} else if (push + 5 <= size && code[push] == 0x68) {
			uint32_t n = (uint32_t)get_s32(code + push + 1);

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
	if (code->machine == EM_X86_64)
		return scan_x86_64(code, source, list);
	if (code->machine == EM_AARCH64)
		return scan_aarch64(code, source, list);
	return 0;
}
