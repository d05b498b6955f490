/* SPDX-License-Identifier: MIT */
/*
 * Of each symbol the type is looked at, and whether its section, or else its segment, is code,
 * whose end bounds an unsized symbol.
 */
#include "daemon/worker/elf/elf_symbols.h"

#include <string.h>

bool elf_table_section(struct elf_image *image, uint32_t type, struct elf_table *ret)
{
	size_t i = elf_image_find(image, type, NULL), n;
	uint32_t names;

	if (i == 0)
		return false;
	names = image->sections[i].sh_link;
	if (names >= image->n_sections || image->sections[names].sh_type != SHT_STRTAB)
		return false;
	ret->symbols = elf_image_data(image, i, ELF_IMAGE_BYTES_MAX);
	ret->names = elf_image_data(image, names, ELF_IMAGE_BYTES_MAX);
	if (!ret->symbols || !ret->names)
		return false;
	n = ret->symbols->d_size / gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	ret->n = n < ELF_TABLE_SYMBOLS_MAX ? n : ELF_TABLE_SYMBOLS_MAX;
	ret->names_left = elf_table_names_max(ret);
	return true;
}

size_t elf_table_names_max(const struct elf_table *table)
{
	return 4 * table->names->d_size + 65536;
}

bool elf_table_name(struct elf_table *table, size_t offset, const char **ret, uint32_t *ret_length)
{
	const char *text = table->names->d_buf, *at;
	size_t rest, length;

	if (offset >= table->names->d_size || table->names_left == 0)
		return false;
	text += offset;
	rest = table->names->d_size - offset;
	length = strnlen(text, rest < SYMTAB_NAME_MAX ? rest : SYMTAB_NAME_MAX);
	if (length >= table->names_left)
		table->names_left = 0;
	if (length == 0 || length == rest || table->names_left == 0)
		return false;
	table->names_left -= length + 1;
	at = memchr(text, '@', length);
	if (at && at > text)
		length = (size_t)(at - text);
	*ret = text;
	*ret_length = (uint32_t)length;
	return true;
}

/* Compilers' local labels, and the marks that ARM and RISC-V put between code and data. */
static bool is_marker_symbol(const char *name, uint32_t length)
{
	if (length >= 2 && name[0] == '.' && name[1] == 'L')
		return true;
	return length >= 2 && name[0] == '$' && memchr("adtx", name[1], 4) &&
	       (length == 2 || name[2] == '.' || name[1] == 'x');
}

/* Where the code around a symbol ends, if there is code at all. */
struct elf_symbols_place {
	uint64_t end;
	bool is_loaded, is_code;
};

static struct elf_symbols_place elf_symbol_segment(const struct elf_image *image,
						   const GElf_Sym *sym)
{
	const struct elf_segment *p = elf_summary_find(&image->summary, sym->st_value, true);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE || !p || !p->executable)
		return (struct elf_symbols_place){0};
	return (struct elf_symbols_place){p->vaddr + p->file_size, true, true};
}

static struct elf_symbols_place elf_symbol_place(const struct elf_image *image, const GElf_Sym *sym)
{
	const GElf_Shdr *s;
	uint64_t end;

	if (!image->n_sections)
		return elf_symbol_segment(image, sym);
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= image->n_sections)
		return (struct elf_symbols_place){0};
	s = &image->sections[sym->st_shndx];
	if (__builtin_add_overflow(s->sh_addr, s->sh_size, &end))
		end = UINT64_MAX;
	return (struct elf_symbols_place){end, s->sh_flags & SHF_ALLOC,
					  s->sh_flags & SHF_EXECINSTR};
}

static bool is_function_symbol(const GElf_Sym *sym, const struct elf_symbols_place *place)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return place->is_loaded;
	return type == STT_NOTYPE && place->is_code;
}

int elf_symbols_collect(const struct elf_image *image, struct elf_table *table, uint64_t distance,
			unsigned source, struct symtab_entries *list)
{
	for (size_t i = 0; i < table->n; i++) {
		struct symtab_entry entry;
		struct elf_symbols_place place;
		GElf_Sym sym;
		int r;

		if (!gelf_getsym(table->symbols, (int)i, &sym))
			continue;
		place = elf_symbol_place(image, &sym);
		if (!is_function_symbol(&sym, &place))
			continue;
		/* ARM marks Thumb functions in the lowest bit of their address. */
		if (image->header.e_machine == EM_ARM)
			sym.st_value &= ~1ull;
		entry = (struct symtab_entry){
			.start = sym.st_value + distance,
			.size = sym.st_size,
			.limit = place.end == UINT64_MAX ? UINT64_MAX : place.end + distance,
			.rank = GELF_ST_BIND(sym.st_info) == STB_LOCAL  ? SYMTAB_LOCAL
				: GELF_ST_BIND(sym.st_info) == STB_WEAK ? SYMTAB_WEAK
									: SYMTAB_GLOBAL,
			.source = source & 0x7f,
		};
		if (!elf_table_name(table, sym.st_name, &entry.name, &entry.name_length) ||
		    (GELF_ST_TYPE(sym.st_info) == STT_NOTYPE &&
		     is_marker_symbol(entry.name, entry.name_length)))
			continue;
		r = symtab_entries_add(list, &entry);
		if (r)
			return r;
	}
	return 0;
}
