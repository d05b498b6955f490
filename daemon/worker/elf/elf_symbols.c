/* SPDX-License-Identifier: MIT */
/*
 * A table is found by its section or, without section headers, as the runtime linker finds it.
 * Of each symbol the type is looked at, and whether its section or segment is code, whose end
 * bounds an unsized symbol.
 */
#include "daemon/worker/elf/elf_symbols.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"

/* A browser's 1.7 million are the most known. */
#define SYMBOLS_MAX (1u << 22)

int elf_table_section(struct elf_image *image, uint32_t type, struct elf_table *ret)
{
	size_t i = elf_image_find(image, type, NULL), n;
	uint32_t names;

	if (i == 0)
		return ELF_TABLE_E_NONE;
	names = image->sections[i].sh_link;
	if (names >= image->n_sections || image->sections[names].sh_type != SHT_STRTAB)
		return ELF_TABLE_E_MALFORMED;
	ret->symbols = elf_image_data(image, i, ELF_IMAGE_BYTES_MAX);
	ret->names = elf_image_data(image, names, ELF_IMAGE_BYTES_MAX);
	if (!ret->symbols || !ret->names)
		return ELF_TABLE_E_MALFORMED;
	n = ret->symbols->d_size / gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	ret->n = n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
	ret->names_left = elf_table_names_max(ret);
	return ELF_TABLE_E_OK;
}

/* What the dynamic segment says: addresses, lengths in bytes; 0: nothing. */
struct dynamic {
	uint64_t symbols, names, names_length, hash, gnu_hash;
};

static bool read_dynamic(struct elf_image *image, struct dynamic *ret)
{
	Elf_Data *data = NULL;
	GElf_Phdr ph;
	GElf_Dyn dyn;
	size_t n;

	*ret = (struct dynamic){0};
	for (int i = 0; i < image->header.e_phnum && !data; i++)
		if (gelf_getphdr(image->elf, i, &ph) && ph.p_type == PT_DYNAMIC)
			data = elf_image_chunk(image, ph.p_offset, ph.p_filesz, ELF_T_DYN);
	if (!data)
		return false;
	n = data->d_size / gelf_fsize(image->elf, ELF_T_DYN, 1, EV_CURRENT);
	for (size_t i = 0; i < n && gelf_getdyn(data, (int)i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag == DT_SYMTAB)
			ret->symbols = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRTAB)
			ret->names = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRSZ)
			ret->names_length = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_HASH)
			ret->hash = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_GNU_HASH)
			ret->gnu_hash = dyn.d_un.d_ptr;
	}
	return ret->symbols && ret->names;
}

/* @length bytes at @address, or as many as there are if @cut; NULL: not in the file. */
static Elf_Data *elf_symbols_read_loaded(struct elf_image *image, uint64_t address, uint64_t length,
					 bool cut, Elf_Type type)
{
	uint64_t offset, rest;

	if (!elf_image_locate(image, address, &offset, &rest) || (length > rest && !cut))
		return NULL;
	return elf_image_chunk(image, offset, length < rest ? length : rest, type);
}

/*
 * DT_GNU_HASH: number of buckets, of symbols that are not in it, of words of the filter, a shift;
 * then the filter, the buckets, each with its first symbol, and for each symbol a word whose lowest
 * bit marks the last one of its bucket. Symbols lie in the order of their buckets, so the last
 * symbol of all is the end of the chain that begins last. (Described nowhere officially; as in
 * glibc's elf/dl-lookup.c.)
 */
static uint64_t count_by_gnu_hash(struct elf_image *image, uint64_t address)
{
	uint64_t filter, chains, last = 0;
	const uint32_t *head, *words;
	Elf_Data *data;
	size_t i, n;

	data = elf_symbols_read_loaded(image, address, 16, false, ELF_T_WORD);
	if (!data)
		return 0;
	head = data->d_buf;
	filter = (uint64_t)head[2] * (image->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4);
	address += 16 + filter;
	data = elf_symbols_read_loaded(image, address, (uint64_t)head[0] * 4, false, ELF_T_WORD);
	if (!data)
		return head[1];
	words = data->d_buf;
	for (i = 0; i < head[0]; i++)
		if (words[i] > last)
			last = words[i];
	if (last < head[1])
		return head[1];
	chains = address + (uint64_t)head[0] * 4 + (last - head[1]) * 4;
	data = elf_symbols_read_loaded(image, chains, (uint64_t)SYMBOLS_MAX * 4, true, ELF_T_WORD);
	if (!data)
		return 0;
	words = data->d_buf;
	n = data->d_size / 4;
	for (i = 0; i < n && !(words[i] & 1);)
		i++;
	return last + i + 1;
}

/* DT_HASH: number of buckets, number of symbols. (System V ABI, "Hash Table") */
static uint64_t count_dynamic_symbols(struct elf_image *image, const struct dynamic *dynamic)
{
	Elf_Data *data = NULL;

	if (dynamic->hash)
		data = elf_symbols_read_loaded(image, dynamic->hash, 8, false, ELF_T_WORD);
	if (data)
		return ((const uint32_t *)data->d_buf)[1];
	return dynamic->gnu_hash ? count_by_gnu_hash(image, dynamic->gnu_hash) : 0;
}

int elf_table_dynamic(struct elf_image *image, struct elf_table *ret)
{
	size_t size = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct dynamic dynamic;
	uint64_t n, offset, rest;

	if (!read_dynamic(image, &dynamic))
		return ELF_TABLE_E_NONE;
	n = count_dynamic_symbols(image, &dynamic);
	if (!elf_image_locate(image, dynamic.symbols, &offset, &rest))
		return ELF_TABLE_E_MALFORMED;
	if (n > rest / size)
		n = rest / size;
	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	if (n == 0)
		return ELF_TABLE_E_NONE;
	ret->symbols = elf_image_chunk(image, offset, n * size, ELF_T_SYM);
	ret->names = elf_symbols_read_loaded(image, dynamic.names, dynamic.names_length, true,
					     ELF_T_BYTE);
	if (!ret->symbols || !ret->names)
		return ELF_TABLE_E_MALFORMED;
	ret->n = n;
	ret->names_left = elf_table_names_max(ret);
	return ELF_TABLE_E_OK;
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

static struct elf_symbols_place elf_symbol_place(const struct elf_image *image,
						 const struct elf_summary *segments,
						 const GElf_Sym *sym)
{
	const GElf_Shdr *s;
	uint64_t end;

	if (!segments) {
		if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= image->n_sections)
			return (struct elf_symbols_place){0};
		s = &image->sections[sym->st_shndx];
		if (__builtin_add_overflow(s->sh_addr, s->sh_size, &end))
			end = UINT64_MAX;
		return (struct elf_symbols_place){end, s->sh_flags & SHF_ALLOC,
						  s->sh_flags & SHF_EXECINSTR};
	}
	for (uint32_t i = 0; i < segments->n_segments && sym->st_shndx != SHN_UNDEF; i++) {
		const struct elf_segment *p = &segments->segments[i];

		if (p->executable && sym->st_value >= p->vaddr &&
		    sym->st_value - p->vaddr < p->memory_size)
			return (struct elf_symbols_place){p->vaddr + p->memory_size, true, true};
	}
	return (struct elf_symbols_place){0};
}

static bool is_function_symbol(const GElf_Sym *sym, const struct elf_symbols_place *place)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return place->is_loaded;
	return type == STT_NOTYPE && place->is_code;
}

int elf_symbols_collect(const struct elf_image *image, const struct elf_symbols_from *from,
			struct symtab_entries *list)
{
	for (size_t i = 0; i < from->table->n; i++) {
		struct symtab_entry entry;
		struct elf_symbols_place place;
		GElf_Sym sym;
		int r;

		if (!gelf_getsym(from->table->symbols, (int)i, &sym))
			continue;
		place = elf_symbol_place(image, from->segments, &sym);
		if (!is_function_symbol(&sym, &place))
			continue;
		/* ARM marks Thumb functions in the lowest bit of their address. */
		if (image->header.e_machine == EM_ARM)
			sym.st_value &= ~1ull;
		entry = (struct symtab_entry){
			.start = sym.st_value + from->distance,
			.size = sym.st_size,
			.limit = place.end == UINT64_MAX ? UINT64_MAX : place.end + from->distance,
			.rank = GELF_ST_BIND(sym.st_info) == STB_LOCAL  ? SYMTAB_LOCAL
				: GELF_ST_BIND(sym.st_info) == STB_WEAK ? SYMTAB_WEAK
									: SYMTAB_GLOBAL,
			.source = from->source & 0x7f,
		};
		if (!elf_table_name(from->table, sym.st_name, &entry.name, &entry.name_length) ||
		    (GELF_ST_TYPE(sym.st_info) == STT_NOTYPE &&
		     is_marker_symbol(entry.name, entry.name_length)))
			continue;
		r = symtab_entries_add(list, &entry);
		if (r)
			return r;
	}
	return 0;
}
