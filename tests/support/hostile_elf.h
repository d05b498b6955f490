/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_H
#define PROFD_TESTS_HOSTILE_ELF_H

/*
 * ELF files that want a reader to read outside of them, to run for ever, or to take all memory.
 * Each comes with a name; some have holes of a terabyte.
 */
#include "common/cleanup.h"
#include "tests/support/hostile_elf_builder.h"
#include "tests/support/hostile_elf_packed.h"

static inline void hostile_plain(struct builder *b)
{
	hostile_base(b);
	builder_finish(b);
}

/* --- headers ---------------------------------------------------------------------------------- */

static inline void hostile_empty(struct builder *b)
{
	hostile_plain(b);
	b->n = 0;
}

static inline void hostile_cut_header(struct builder *b)
{
	hostile_plain(b);
	b->n = 40;
}

static inline void hostile_cut_segments(struct builder *b)
{
	hostile_plain(b);
	b->n = sizeof(Elf64_Ehdr) + 30;
}

static inline void hostile_cut_symbols(struct builder *b)
{
	hostile_plain(b);
	b->n = b->sections[2].sh_offset + 30;
}

static inline void hostile_cut_names(struct builder *b)
{
	hostile_plain(b);
	b->n = b->sections[3].sh_offset + 3;
}

static inline void hostile_cut_sections(struct builder *b)
{
	hostile_plain(b);
	b->n -= 10;
}

static inline void hostile_archive(struct builder *b)
{
	hostile_plain(b);
	memcpy(b->data, "!<arch>\n//", 10);
}

static inline void hostile_class(struct builder *b)
{
	hostile_plain(b);
	b->data[EI_CLASS] = ELFCLASS32;
}

static inline void hostile_byte_order(struct builder *b)
{
	hostile_plain(b);
	b->data[EI_DATA] = ELFDATA2MSB;
}

static inline void hostile_many_segments(struct builder *b)
{
	hostile_plain(b);
	builder_header(b)->e_phnum = 1000;
	for (unsigned i = 0; i < 1000; i++) {
		Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 4096ull * i};

		if (i == 0)
			builder_header(b)->e_phoff = builder_room(b, 1000 * sizeof(p));
		memcpy(b->data + builder_header(b)->e_phoff + i * sizeof(p), &p, sizeof(p));
	}
}

/* The number of segments is in the first section, which says four thousand million. */
static inline void hostile_uncounted_segments(struct builder *b)
{
	hostile_plain(b);
	builder_header(b)->e_phnum = PN_XNUM;
	builder_section_header(b, 0)->sh_info = UINT32_MAX;
}

static inline void hostile_wrapping_segments(struct builder *b)
{
	hostile_base(b);
	b->segments[0].p_vaddr = UINT64_MAX - 10;
	b->segments[0].p_offset = UINT64_MAX - 100;
	builder_finish(b);
}

/* --- sections --------------------------------------------------------------------------------- */

/* 2^32 sections, and a file that is long enough for them. */
static inline void hostile_sections_2_32(struct builder *b)
{
	hostile_plain(b);
	builder_header(b)->e_shnum = 0;
	builder_section_header(b, 0)->sh_size = UINT32_MAX;
	b->length = HOSTILE_TERA;
}

static inline void hostile_sections_2_64(struct builder *b)
{
	hostile_plain(b);
	builder_header(b)->e_shnum = 0;
	builder_section_header(b, 0)->sh_size = UINT64_MAX;
	b->length = HOSTILE_TERA;
}

static inline void hostile_sections_many(struct builder *b)
{
	hostile_plain(b);
	builder_header(b)->e_shnum = SHN_LORESERVE - 1;
	b->length = 16u << 20;
}

static inline void hostile_overlapping(struct builder *b)
{
	hostile_base(b);
	for (unsigned i = 1; i < b->header.e_shnum; i++) {
		b->sections[i].sh_offset = b->sections[2].sh_offset;
		b->sections[i].sh_size = b->sections[2].sh_size;
	}
	builder_finish(b);
}

static inline void hostile_link_to_itself(struct builder *b)
{
	hostile_base(b);
	b->sections[2].sh_link = 2;
	b->sections[3].sh_link = 2;
	builder_finish(b);
}

static inline void hostile_link_cycle(struct builder *b)
{
	hostile_base(b);
	b->sections[3].sh_link = 2;
	b->sections[3].sh_type = SHT_SYMTAB;
	builder_finish(b);
}

static inline void hostile_link_nowhere(struct builder *b)
{
	hostile_base(b);
	b->sections[2].sh_link = UINT32_MAX;
	builder_finish(b);
}

static inline void hostile_entry_size(struct builder *b)
{
	hostile_base(b);
	b->sections[2].sh_entsize = 0;
	b->sections[2].sh_size -= 5;
	builder_finish(b);
}

static inline void hostile_huge_sections(struct builder *b)
{
	hostile_base(b);
	for (unsigned i = 1; i < b->header.e_shnum; i++)
		b->sections[i].sh_size = HOSTILE_TERA - b->sections[i].sh_offset;
	builder_finish(b);
	b->length = HOSTILE_TERA;
}

static inline void hostile_wrapping_sections(struct builder *b)
{
	hostile_base(b);
	for (unsigned i = 1; i < b->header.e_shnum; i++) {
		b->sections[i].sh_size = UINT64_MAX - 15;
		b->sections[i].sh_addr = 0xfffffffffffff000;
	}
	builder_finish(b);
}

static inline void hostile_section_names(struct builder *b)
{
	unsigned last;

	hostile_plain(b);
	last = b->header.e_shstrndx;
	builder_section_header(b, last)->sh_size = 9;
	builder_section_header(b, 2)->sh_name = 7;
	builder_section_header(b, 3)->sh_name = UINT32_MAX;
	memset(b->data + b->sections[last].sh_offset, 'a', 9);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static inline void hostile_names_without_end(struct builder *b)
{
	hostile_plain(b);
	memset(builder_at(b, 3), 'a', b->sections[3].sh_size);
}

static inline void hostile_wrapping_symbols(struct builder *b)
{
	static const struct builder_symbol symbols[] = {
		{"all", 0, UINT64_MAX, BUILDER_FUNC, 1},
		{"last", UINT64_MAX, UINT64_MAX, BUILDER_FUNC, 1},
		{"far", UINT64_MAX - 1, 0, BUILDER_FUNC, 1},
		{"half", 1ull << 63, 1ull << 63, BUILDER_FUNC, 1},
		{"inner", 1ull << 62, UINT64_MAX - 5, BUILDER_LOCAL, 1},
		{"large", 5, 1ull << 40, BUILDER_LOCAL, 1},
	};

	builder_init(b);
	builder_text(b, 0x100);
	b->sections[1].sh_addr = UINT64_MAX - 0x1000;
	b->sections[1].sh_size = UINT64_MAX;
	builder_symbols(b, ".symtab", SHT_SYMTAB, symbols, ARRAY_SIZE(symbols));
	builder_finish(b);
}

/* @n symbols; @make fills in one. Their names are in section 3, @n_names bytes of 'a'. */
static inline void hostile_symbols(struct builder *b, size_t n, size_t n_names,
				   void (*make)(Elf64_Sym *sym, size_t i))
{
	unsigned i;

	builder_init(b);
	builder_text(b, 0x1000);
	i = builder_section(b, ".symtab",
			    &(Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = 3, .sh_entsize = 24},
			    NULL, n * sizeof(Elf64_Sym));
	for (size_t k = 1; k < n; k++) {
		Elf64_Sym sym = {.st_info = BUILDER_FUNC, .st_shndx = 1, .st_name = 1};

		make(&sym, k);
		memcpy((uint8_t *)builder_at(b, i) + k * sizeof(sym), &sym, sizeof(sym));
	}
	i = builder_section(b, ".strtab", &(Elf64_Shdr){.sh_type = SHT_STRTAB}, NULL, n_names);
	memset((char *)builder_at(b, i) + 1, 'a', n_names - 2);
	builder_finish(b);
}

static inline void hostile_at_one(Elf64_Sym *sym, size_t i)
{
	sym->st_name = HOSTILE_MILLION - 3;
	sym->st_value = BUILDER_FIRST;
	sym->st_size = i % 7 * 16;
}

static inline void hostile_nest(Elf64_Sym *sym, size_t i)
{
	sym->st_name = HOSTILE_MILLION - 3;
	sym->st_value = BUILDER_FIRST + i;
	sym->st_size = 4 * (HOSTILE_MILLION - i);
}

static inline void hostile_share_end(Elf64_Sym *sym, size_t i)
{
	sym->st_value = BUILDER_FIRST;
	sym->st_size = 16;
	sym->st_name = (Elf64_Word)i;
}

static inline void hostile_spread(Elf64_Sym *sym, size_t i)
{
	sym->st_value = BUILDER_FIRST + 16 * i;
	sym->st_size = 8;
	sym->st_name = (Elf64_Word)i;
}

static inline void hostile_million_at_one(struct builder *b)
{
	hostile_symbols(b, HOSTILE_MILLION, HOSTILE_MILLION, hostile_at_one);
}

static inline void hostile_million_nested(struct builder *b)
{
	hostile_symbols(b, HOSTILE_MILLION, HOSTILE_MILLION, hostile_nest);
}

/* Names that are alike for longer than anybody wants to compare, a million of them at one place. */
static inline void hostile_long_names(struct builder *b)
{
	hostile_symbols(b, HOSTILE_MILLION, 2 * HOSTILE_MILLION, hostile_share_end);
}

/* All names together have a hundred thousand times 64 KiB, out of 200 kB. */
static inline void hostile_shared_names(struct builder *b)
{
	hostile_symbols(b, HOSTILE_MILLION / 10, HOSTILE_MILLION / 5, hostile_spread);
}

/* --- the dynamic segment ---------------------------------------------------------------------- */

/*
 * Without section headers: @hash is the section that @tag (DT_HASH or DT_GNU_HASH) leads to, all is
 * in one segment that reaches to the end of the file.
 */
static inline void hostile_dynamic_with(struct builder *b, int64_t tag, const void *hash,
					size_t length)
{
	Elf64_Dyn dyn[] = {{.d_tag = DT_SYMTAB},
			   {.d_tag = DT_STRTAB},
			   {.d_tag = DT_STRSZ},
			   {.d_tag = tag},
			   {.d_tag = DT_NULL}};
	unsigned table, dynamic, hashes;

	builder_init(b);
	builder_text(b, 0x100);
	table = builder_symbols(b, ".dynsym", SHT_DYNSYM, hostile_functions,
				ARRAY_SIZE(hostile_functions));
	dynamic = builder_section(b, ".dynamic", &(Elf64_Shdr){.sh_type = SHT_DYNAMIC}, NULL,
				  sizeof(dyn));
	hashes = builder_section(b, ".hash", &(Elf64_Shdr){.sh_type = SHT_HASH}, hash, length);
	dyn[0].d_un.d_ptr = b->sections[table].sh_offset;
	dyn[1].d_un.d_ptr = b->sections[table + 1].sh_offset;
	dyn[2].d_un.d_val = b->sections[table + 1].sh_size;
	dyn[3].d_un.d_ptr = b->sections[hashes].sh_offset;
	memcpy(builder_at(b, dynamic), dyn, sizeof(dyn));
	builder_segment(b, PT_LOAD, PF_R, b->sections[2].sh_offset,
			b->n - b->sections[2].sh_offset);
	builder_segment(b, PT_DYNAMIC, PF_R, b->sections[dynamic].sh_offset, sizeof(dyn));
	b->no_sections = true;
	builder_finish(b);
}

/* As in a copy of what glibc loaded @distance further up, where the header is mapped as well. */
static inline void hostile_dynamic_move(struct builder *b, uint64_t distance)
{
	Elf64_Dyn *dyn = (Elf64_Dyn *)(void *)(b->data + b->segments[2].p_offset);
	Elf64_Phdr *p = &b->segments[1];

	p->p_filesz = p->p_memsz = p->p_offset + p->p_filesz;
	p->p_offset = p->p_vaddr = 0;
	memcpy(b->data + b->header.e_phoff, b->segments, sizeof(b->segments));
	builder_header(b)->e_entry = distance;
	for (; dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag != DT_STRSZ)
			dyn->d_un.d_ptr += distance;
}

static inline void hostile_hash_huge(struct builder *b)
{
	static const uint32_t hash[] = {UINT32_MAX, UINT32_MAX, 0, 0};

	hostile_dynamic_with(b, DT_HASH, hash, sizeof(hash));
}

static inline void hostile_gnu_hash_huge(struct builder *b)
{
	static const uint32_t hash[] = {UINT32_MAX, 1, UINT32_MAX, 6, 1, 2, 3};

	hostile_dynamic_with(b, DT_GNU_HASH, hash, sizeof(hash));
}

/* A chain of a terabyte of zeros, none of them the last. */
static inline void hostile_gnu_hash_endless(struct builder *b)
{
	static const uint32_t hash[] = {1, 1, 1, 6, 0, 0, 1, 2, 4, 6};

	hostile_dynamic_with(b, DT_GNU_HASH, hash, sizeof(hash));
	b->length = HOSTILE_TERA;
	b->segments[1].p_filesz = HOSTILE_TERA - b->segments[1].p_offset;
	b->segments[1].p_memsz = b->segments[1].p_filesz;
	memcpy(b->data + b->header.e_phoff, b->segments, sizeof(b->segments));
}

static inline void hostile_gnu_hash_bucket(struct builder *b)
{
	static const uint32_t hash[] = {1, 1, 1, 6, 0, 0, UINT32_MAX, 1};

	hostile_dynamic_with(b, DT_GNU_HASH, hash, sizeof(hash));
}

static inline void hostile_dynamic_outside(struct builder *b)
{
	static const uint32_t hash[] = {1, 4, 0, 0};

	hostile_dynamic_with(b, DT_HASH, hash, sizeof(hash));
	b->segments[2].p_offset = UINT64_MAX - 64;
	memcpy(b->data + b->header.e_phoff, b->segments, sizeof(b->segments));
}

/* Tables at addresses that no segment has, or that wrap. */
static inline void hostile_dynamic_astray(struct builder *b)
{
	static const uint32_t hash[] = {1, 4, 0, 0};
	Elf64_Dyn dyn[2] = {{DT_SYMTAB, {UINT64_MAX - 8}}, {DT_STRTAB, {UINT64_MAX - 4}}};

	hostile_dynamic_with(b, DT_HASH, hash, sizeof(hash));
	memcpy(b->data + b->segments[2].p_offset, dyn, sizeof(dyn));
}

/* Moved, and back by something else. */
static inline void hostile_dynamic_moved(struct builder *b)
{
	static const uint32_t hash[] = {1, 4, 0, 0};

	hostile_dynamic_with(b, DT_HASH, hash, sizeof(hash));
	hostile_dynamic_move(b, HOSTILE_TERA);
	builder_header(b)->e_entry = UINT64_MAX;
}

/* A dynamic segment of a terabyte. */
static inline void hostile_dynamic_huge(struct builder *b)
{
	static const uint32_t hash[] = {1, 4, 0, 0};

	hostile_dynamic_with(b, DT_HASH, hash, sizeof(hash));
	b->segments[2].p_filesz = HOSTILE_TERA / 2;
	b->segments[2].p_memsz = HOSTILE_TERA / 2;
	memcpy(b->data + b->header.e_phoff, b->segments, sizeof(b->segments));
	b->length = HOSTILE_TERA;
}

/* --- stubs ------------------------------------------------------------------------------------ */

/* @n_relocations of one slot, to which all stubs of @n_stubs jump. */
static inline void hostile_plt_with(struct builder *b, size_t n_relocations, size_t n_stubs)
{
	unsigned plt, rela;

	builder_init(b);
	builder_text(b, 0x100);
	builder_symbols(b, ".dynsym", SHT_DYNSYM, hostile_functions, ARRAY_SIZE(hostile_functions));
	plt = builder_section(b, ".plt",
			      &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
					    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					    .sh_entsize = 16},
			      NULL, 16 * n_stubs);
	for (size_t i = 0; i < n_stubs; i++) {
		uint8_t *stub = (uint8_t *)builder_at(b, plt) + 16 * i;
		int32_t distance = (int32_t)(0x10000000 - (b->sections[plt].sh_addr + 16 * i + 6));

		memcpy(stub, "\xff\x25", 2);
		memcpy(stub + 2, &distance, 4);
	}
	rela = builder_section(b, ".rela.plt",
			       &(Elf64_Shdr){.sh_type = SHT_RELA,
					     .sh_flags = SHF_ALLOC,
					     .sh_link = 2,
					     .sh_entsize = 24},
			       NULL, n_relocations * sizeof(Elf64_Rela));
	for (size_t i = 0; i < n_relocations; i++) {
		Elf64_Rela r = {.r_offset = 0x10000000,
				.r_info = ELF64_R_INFO(1 + i % 5, R_X86_64_JUMP_SLOT)};

		memcpy((uint8_t *)builder_at(b, rela) + i * sizeof(r), &r, sizeof(r));
	}
	builder_finish(b);
}

static inline void hostile_plt_relocations(struct builder *b)
{
	hostile_plt_with(b, HOSTILE_MILLION, 1000);
}

static inline void hostile_plt_stubs(struct builder *b)
{
	hostile_plt_with(b, 10, 260000);
}

/* --- notes and links -------------------------------------------------------------------------- */

static inline void hostile_notes(struct builder *b)
{
	hostile_plain(b);
	memset(builder_at(b, 4), 0xff, 12);
}

static inline void hostile_links(struct builder *b, const void *link, size_t link_length,
				 const void *alternate, size_t alternate_length)
{
	hostile_base(b);
	builder_section(b, ".gnu_debuglink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, link,
			link_length);
	builder_section(b, ".gnu_debugaltlink", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, alternate,
			alternate_length);
	builder_finish(b);
}

/* Both links lead to the file itself (which is to have this name). */
static inline void hostile_link_cycle_debug(struct builder *b)
{
	static const char link[] = "debuglink-to-itself\0\1\2\3\4";
	static const char alternate[] = "debuglink-to-itself\0abababababababababab";

	hostile_links(b, link, 24, alternate, sizeof(alternate) - 1);
}

static inline void hostile_links_without_end(struct builder *b)
{
	static const char text[] = "../../../../etc/passwd";

	hostile_links(b, text, sizeof(text) - 1, text, sizeof(text) - 1);
}

/* Go's table: a hundred thousand functions that share one name, which has no end in 8 MB. */
static inline void hostile_go_endless_name(struct builder *b)
{
	enum {
		N = 100000,
		FIELDS = 72,
		FUNCTIONS = FIELDS + 8 * N + 4,
		NAMES = FUNCTIONS + 48 * N
	};
	const size_t length = NAMES + 8 * HOSTILE_MILLION;
	const uint64_t fields[8] = {N, 0, BUILDER_FIRST, NAMES, 0, 0, FIELDS - 1, FIELDS};
	uint8_t *data = calloc(1, length);

	if (!data)
		abort();
	memcpy(data, "\xf1\xff\xff\xff\0\0\1\x8", 8);
	memcpy(data + 8, fields, sizeof(fields));
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t entry[3] = {i, FUNCTIONS - FIELDS + 48 * i, i + 1};

		memcpy(data + FIELDS + 8 * (size_t)i, entry, sizeof(entry));
	}
	/* What is said of a function has its address again, which nobody reads: its name is at 0.
	 */
	memset(data + FUNCTIONS, 0, (size_t)48 * N);
	memset(data + NAMES, 'n', length - NAMES);
	hostile_base(b);
	builder_section(b, ".gopclntab",
			&(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, data,
			length);
	builder_finish(b);
	free(data);
}

static const struct hostile_case hostile_cases[] = {
	{"go-endless-name", hostile_go_endless_name},
	{"plain", hostile_plain},
	{"empty", hostile_empty},
	{"cut-header", hostile_cut_header},
	{"cut-segments", hostile_cut_segments},
	{"cut-symbols", hostile_cut_symbols},
	{"cut-names", hostile_cut_names},
	{"cut-sections", hostile_cut_sections},
	{"archive", hostile_archive},
	{"class", hostile_class},
	{"byte-order", hostile_byte_order},
	{"many-segments", hostile_many_segments},
	{"uncounted-segments", hostile_uncounted_segments},
	{"wrapping-segments", hostile_wrapping_segments},
	{"sections-2-32", hostile_sections_2_32},
	{"sections-2-64", hostile_sections_2_64},
	{"sections-many", hostile_sections_many},
	{"overlapping", hostile_overlapping},
	{"link-to-itself", hostile_link_to_itself},
	{"link-cycle", hostile_link_cycle},
	{"link-nowhere", hostile_link_nowhere},
	{"entry-size", hostile_entry_size},
	{"huge-sections", hostile_huge_sections},
	{"wrapping-sections", hostile_wrapping_sections},
	{"section-names", hostile_section_names},
	{"names-without-end", hostile_names_without_end},
	{"wrapping-symbols", hostile_wrapping_symbols},
	{"million-at-one", hostile_million_at_one},
	{"million-nested", hostile_million_nested},
	{"long-names", hostile_long_names},
	{"shared-names", hostile_shared_names},
	{"claims-tera", hostile_claims_tera},
	{"compressed-garbage", hostile_compressed_garbage},
	{"zip-bomb", hostile_zip_bomb},
	{"zip-bomb-within", hostile_zip_bomb_within},
	{"xz-bomb", hostile_xz_bomb},
	{"xz-cut", hostile_xz_cut},
	{"xz-dictionary", hostile_xz_dictionary},
	{"xz-in-xz", hostile_xz_in_xz},
	{"hash-huge", hostile_hash_huge},
	{"gnu-hash-huge", hostile_gnu_hash_huge},
	{"gnu-hash-endless", hostile_gnu_hash_endless},
	{"gnu-hash-bucket", hostile_gnu_hash_bucket},
	{"dynamic-outside", hostile_dynamic_outside},
	{"dynamic-astray", hostile_dynamic_astray},
	{"dynamic-moved", hostile_dynamic_moved},
	{"dynamic-huge", hostile_dynamic_huge},
	{"plt-relocations", hostile_plt_relocations},
	{"plt-stubs", hostile_plt_stubs},
	{"notes", hostile_notes},
	{"debuglink-to-itself", hostile_link_cycle_debug},
	{"links-without-end", hostile_links_without_end},
};

#endif
