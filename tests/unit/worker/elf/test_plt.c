/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/names/elf_names.h"
#include "tests/support/hostile_elf_builder.h"

#define CODE 0x401000ull
#define GOT  0x404000ull

static const struct plt_slot slots[] = {
	{GOT, "malloc", 6},
	{GOT + 8, "free", 4},
	{GOT + 16, "read", 4},
};
static const uint64_t jump_slots[] = {GOT + 8, GOT, GOT + 64};

/* jmp *slot(%rip) at @at of the code. */
static void put_jump(uint8_t *code, size_t at, uint64_t slot)
{
	int32_t distance = (int32_t)(slot - (CODE + at + 6));

	memcpy(code + at, "\xff\x25", 2);
	memcpy(code + at + 2, &distance, 4);
}

static void check_stub(const struct symtab_entry *e, uint64_t start, uint64_t size,
		       const char *name)
{
	assert_int_equal(e->start, start);
	assert_int_equal(e->size, size);
	assert_int_equal(e->name_length, strlen(name));
	assert_memory_equal(e->name, name, strlen(name));
	assert_true(e->is_stub);
	assert_int_equal(e->source, 5);
}

static void scan(const uint8_t *code, size_t length, uint16_t machine, unsigned entry_size,
		 struct symtab_entries *list)
{
	assert_int_equal(plt_scan(&(struct plt_code){.code = code,
						     .length = length,
						     .address = CODE,
						     .machine = machine,
						     .got = GOT - 0x10,
						     .entry_size = entry_size,
						     .slots = slots,
						     .n_slots = ARRAY_SIZE(slots),
						     .jump_slots = jump_slots,
						     .n_jump_slots = ARRAY_SIZE(jump_slots)},
				  5, list),
			 0);
}

static void test_x86_64_lazy(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	uint8_t code[16 * 6] = {0};

	(void)state;
	memcpy(code, "\xff\x35\0\0\0\0", 6);
	put_jump(code, 6, GOT + 0x1000); /* the head of all: no slot with a name */
	put_jump(code, 16, GOT + 8);
	memcpy(code + 22, "\x68\1\0\0\0\xe9", 6);
	/* endbr64; bnd jmp *slot; nop */
	memcpy(code + 32, "\xf3\x0f\x1e\xfa\xf2", 5);
	put_jump(code, 37, GOT);
	/* endbr64; push $1; bnd jmp */
	memcpy(code + 48, "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9", 11);
	/* push $0; jmp; a relocation without a name; one that is not there */
	memcpy(code + 64, "\x68\0\0\0\0\xe9", 6);
	memcpy(code + 80, "\x68\xff\xff\xff\xff\xe9", 6);
	scan(code, sizeof(code), EM_X86_64, 16, &list);
	assert_int_equal(list.n, 4);
	check_stub(&list.entries[0], CODE + 16, 16, "free");
	check_stub(&list.entries[1], CODE + 32, 16, "malloc");
	check_stub(&list.entries[2], CODE + 48, 16, "malloc");
	check_stub(&list.entries[3], CODE + 64, 16, "free");
	/* Cut short, and of a machine that has none such. */
	list.n = 0;
	scan(code, 31, EM_X86_64, 16, &list);
	scan(code, sizeof(code), EM_ARM, 16, &list);
	assert_int_equal(list.n, 0);
}

/* 32-bit: addresses of slots, or distances from the table that %ebx has. */
static void test_i386(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	uint8_t code[16 * 6] = {0};

	(void)state;
	/* push 4(%ebx); jmp *8(%ebx): the head of all */
	memcpy(code, "\xff\xb3\4\0\0\0\xff\xa3\x08\0\0\0", 12);
	memcpy(code + 16, "\xff\xa3\x10\0\0\0\x68\0\0\0\0\xe9", 12);
	memcpy(code + 32, "\xff\x25\x08\x40\x40\0\x68\x08\0\0\0\xe9", 12);
	/* endbr32; jmp *0x20(%ebx) */
	memcpy(code + 48, "\xf3\x0f\x1e\xfb\xff\xa3\x20\0\0\0", 10);
	/* endbr32; push $8: the second relocation */
	memcpy(code + 64, "\xf3\x0f\x1e\xfb\x68\x08\0\0\0\xe9", 10);
	/* endbr64 and a far relocation: neither */
	memcpy(code + 80, "\xf3\x0f\x1e\xfa\x68\xff\xff\xff\xff\xe9", 10);
	scan(code, sizeof(code), EM_386, 4, &list);
	assert_int_equal(list.n, 4);
	check_stub(&list.entries[0], CODE + 16, 16, "malloc");
	check_stub(&list.entries[1], CODE + 32, 16, "free");
	check_stub(&list.entries[2], CODE + 48, 16, "read");
	check_stub(&list.entries[3], CODE + 64, 16, "malloc");
	/* Without a lazy half. */
	list.n = 0;
	memcpy(code, "\xff\xa3\x20\0\0\0\x66\x90", 8);
	memcpy(code + 8, "\xff\xa3\x18\0\0\0\x66\x90", 8);
	scan(code, 16, EM_386, 8, &list);
	assert_int_equal(list.n, 2);
	check_stub(&list.entries[0], CODE, 8, "read");
	check_stub(&list.entries[1], CODE + 8, 8, "free");
}

static void test_x86_64_short(void **state)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	uint8_t code[16];

	(void)state;
	put_jump(code, 0, GOT + 16);
	memcpy(code + 6, "\x66\x90", 2);
	put_jump(code, 8, GOT);
	memcpy(code + 14, "\x66\x90", 2);
	for (unsigned size = 0; size <= 8; size += 8) {
		list.n = 0;
		scan(code, sizeof(code), EM_X86_64, size, &list);
		assert_int_equal(list.n, 2);
		check_stub(&list.entries[0], CODE, 8, "read");
		check_stub(&list.entries[1], CODE + 8, 8, "malloc");
	}
}

static void test_aarch64(void **state)
{
	/* As an assembler makes them. */
	static const uint32_t code[] = {0xa9bf7bf0, /* stp x16, x30, [sp, #-16]! */
					0xb0000010, /* adrp x16, 0x1000 */
					0xf947fe11, /* ldr x17, [x16, #0xff8] */
					0x913fe210, /* add x16, x16, #0xff8 */
					0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f,
					/* A stub: */
					0xf0000010, /* adrp x16, 0x3000 */
					0xf9400211, /* ldr x17, [x16] */
					0x91000210, 0xd61f0220,
					/* With a landing pad and a signature: */
					0xd503245f, 0xf0000010,
					0xf9400a11, /* ldr x17, [x16, #16] */
					0x91004210, 0xd503219f, 0xd61f0220, 0xd503201f,
					/* Without its end: */
					0xf0000010, 0xf9400211, 0x91000210};
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};

	(void)state;
	scan((const uint8_t *)code, sizeof(code), EM_AARCH64, 16, &list);
	assert_int_equal(list.n, 2);
	check_stub(&list.entries[0], CODE + 32, 16, "malloc");
	check_stub(&list.entries[1], CODE + 48, 28, "read");
	for (size_t n = 0; n < sizeof(code); n++)
		scan((const uint8_t *)code, n, EM_AARCH64, 16, &list);
}

/* adrp reaches backwards as well. */
static void test_aarch64_backwards(void **state)
{
	static const uint32_t code[] = {0x90ffff70, 0xf9400211, 0x91000210, 0xd61f0220};
	static const struct plt_slot below = {CODE - 0x14000, "far", 3};
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};

	(void)state;
	assert_int_equal(plt_scan(&(struct plt_code){.code = (const uint8_t *)code,
						     .length = sizeof(code),
						     .address = CODE,
						     .machine = EM_AARCH64,
						     .slots = &below,
						     .n_slots = 1},
				  5, &list),
			 0);
	assert_int_equal(list.n, 1);
	check_stub(&list.entries[0], CODE, 16, "far");
}

/* A whole file: a slot of a name, one of a resolver, one of nothing. */
static void test_file(void **state)
{
	static const struct builder_symbol local[] = {
		{"resolved", BUILDER_FIRST + 0x10, 8, ELF64_ST_INFO(STB_LOCAL, STT_GNU_IFUNC), 1},
	};
	static const struct builder_symbol dynamic[] = {
		{"imported@VERSION", 0, 0, BUILDER_FUNC, SHN_UNDEF},
	};
	const Elf64_Rela relocations[] = {
		{0x9000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
		{0x9008, ELF64_R_INFO(0, R_X86_64_IRELATIVE), BUILDER_FIRST + 0x10},
		{0x9010, ELF64_R_INFO(0, R_X86_64_RELATIVE), BUILDER_FIRST + 0x10},
		{0x9018, ELF64_R_INFO(77, R_X86_64_JUMP_SLOT), 0},
		{0x9020, ELF64_R_INFO(0, R_X86_64_IRELATIVE), BUILDER_FIRST + 0x11},
	};
	const struct {
		const char *name;
		enum worker_source source;
	} expected[] = {{"imported@plt", WORKER_SOURCE_PLT}, {"resolved@plt", WORKER_SOURCE_PLT}};
	cleanup(symtab_freep) struct symtab *names = NULL;
	struct builder b;
	uint64_t at;
	unsigned plt;
	int fd;

	(void)state;
	builder_init(&b);
	builder_text(&b, 0x100);
	builder_symbols(&b, ".symtab", SHT_SYMTAB, local, 1);
	builder_symbols(&b, ".dynsym", SHT_DYNSYM, dynamic, 1);
	plt = builder_section(&b, ".plt.sec",
			      &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
					    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					    .sh_entsize = 16},
			      NULL, 80);
	at = b.sections[plt].sh_addr;
	for (unsigned i = 0; i < 5; i++) {
		uint8_t *stub = (uint8_t *)builder_at(&b, plt) + 16 * i;
		int32_t distance = (int32_t)(0x9000 + 8 * i - (at + 16 * i + 6));

		memcpy(stub, "\xff\x25", 2);
		memcpy(stub + 2, &distance, 4);
	}
	builder_section(&b, ".rela.plt", &(Elf64_Shdr){.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC},
			relocations, sizeof(relocations));
	builder_finish(&b);
	fd = builder_memfd(&b);
	builder_deinit(&b);
	assert_int_equal(elf_names_new(&names, &(struct elf_names_files){fd, -1, false}),
			 WORKER_DONE);
	for (unsigned i = 0; i < 5; i++) {
		struct symtab_symbol name;
		bool found = symtab_find(names, at + 16 * i + 15, &name);

		assert_int_equal(found, i < ARRAY_SIZE(expected));
		if (!found)
			continue;
		assert_string_equal(name.name, expected[i].name);
		assert_int_equal(name.source, expected[i].source);
		assert_int_equal(name.start, at + 16 * i);
		assert_int_equal(name.size, 16);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_64_lazy),
		cmocka_unit_test(test_x86_64_short),
		cmocka_unit_test(test_i386),
		cmocka_unit_test(test_aarch64),
		cmocka_unit_test(test_aarch64_backwards),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
