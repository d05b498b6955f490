/* SPDX-License-Identifier: MIT */

/*
 * Functions of an ELF file through libelf, with ELF_C_READ: it reads the two sections it is asked
 * for, and moves no file offset. What counts as a function: STT_FUNC and STT_GNU_IFUNC, and
 * untyped symbols in executable sections, as assembly leaves them, but for the marks that
 * compilers and linkers need for themselves.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "common/error.h"
#include "common/symbols/symtab.h"
#include "common/symbols/symtab_build.h"

/*
 * Bounds what a file can make us allocate. The largest known to need it, a browser with full
 * .symtab, has 40 MB of symbols and 150 MB of names.
 */
#define SECTION_BYTES_MAX (256u << 20)

static void elf_endp(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

struct sections {
	struct section {
		uint64_t flags, end; /* sh_flags; the link-time address of its end */
	} * items;
	size_t n;
};

static void sections_deinit(struct sections *s)
{
	free(s->items);
}

/* A table of symbols with its names, as libelf holds them. */
struct table {
	Elf_Data *symbols, *names;
	size_t n;
};

/* The section headers at hand, because symbols refer to them by the ten thousand. */
static int read_sections(Elf *elf, struct sections *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrnum(elf, &ret->n) != 0)
		return SYMTAB_E_MALFORMED;
	ret->items = calloc(ret->n ? ret->n : 1, sizeof(*ret->items));
	if (!ret->items)
		return error_origin(-ENOMEM);
	while ((scn = elf_nextscn(elf, scn))) {
		size_t i = elf_ndxscn(scn);

		if (i >= ret->n || !gelf_getshdr(scn, &sh))
			continue;
		ret->items[i] = (struct section){
			.flags = sh.sh_flags,
			.end = sh.sh_addr + sh.sh_size >= sh.sh_addr ? sh.sh_addr + sh.sh_size
								     : UINT64_MAX,
		};
	}
	return SYMTAB_E_OK;
}

/* Returns SYMTAB_E_OK, _NONE (no such section) or _MALFORMED. */
static int find_table(Elf *elf, unsigned type, struct table *ret)
{
	Elf_Scn *scn = NULL, *names;
	GElf_Shdr sh, names_sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type)
			break;
	if (!scn)
		return SYMTAB_E_NONE;
	names = elf_getscn(elf, sh.sh_link);
	if (!names || !gelf_getshdr(names, &names_sh) || names_sh.sh_type != SHT_STRTAB)
		return SYMTAB_E_MALFORMED;
	if (sh.sh_size > SECTION_BYTES_MAX || names_sh.sh_size > SECTION_BYTES_MAX)
		return SYMTAB_E_MALFORMED;
	ret->symbols = elf_getdata(scn, NULL);
	ret->names = elf_getdata(names, NULL);
	if (!ret->symbols || !ret->names || !ret->symbols->d_buf || !ret->names->d_buf)
		return SYMTAB_E_MALFORMED;
	ret->n = ret->symbols->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	return SYMTAB_E_OK;
}

/*
 * The name, without the version that the static linker appends ("memcpy@@GLIBC_2.14"). False for
 * one that is not within the section.
 */
static bool get_name(const struct table *table, size_t offset, const char **ret,
		     uint32_t *ret_length)
{
	const char *text = table->names->d_buf, *end, *at;
	size_t rest;

	if (offset >= table->names->d_size)
		return false;
	text += offset;
	rest = table->names->d_size - offset;
	end = memchr(text, '\0', rest < SYMTAB_NAME_MAX ? rest : SYMTAB_NAME_MAX);
	if (!end && rest < SYMTAB_NAME_MAX)
		return false;
	if (!end)
		end = text + SYMTAB_NAME_MAX;
	at = memchr(text, '@', (size_t)(end - text));
	if (at && at > text)
		end = at;
	*ret = text;
	*ret_length = (uint32_t)(end - text);
	return end > text;
}

/* Compilers' local labels, and the marks that ARM and RISC-V put between code and data. */
static bool is_mark(const char *name, uint32_t length)
{
	if (length >= 2 && name[0] == '.' && name[1] == 'L')
		return true;
	return length >= 2 && name[0] == '$' && memchr("adtx", name[1], 4) &&
	       (length == 2 || name[2] == '.' || name[1] == 'x');
}

static bool is_function(const GElf_Sym *sym, const struct sections *sections)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= sections->n)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return sections->items[sym->st_shndx].flags & SHF_ALLOC;
	return type == STT_NOTYPE && (sections->items[sym->st_shndx].flags & SHF_EXECINSTR);
}

static int collect(const struct table *table, const struct sections *sections, bool is_arm,
		   struct symtab_entries *list)
{
	for (size_t i = 0; i < table->n; i++) {
		struct symtab_entry entry;
		GElf_Sym sym;
		int r;

		if (!gelf_getsym(table->symbols, (int)i, &sym) || !is_function(&sym, sections))
			continue;
		entry = (struct symtab_entry){
			/* ARM marks Thumb functions in the lowest bit of their address. */
			.start = is_arm ? sym.st_value & ~1ull : sym.st_value,
			.size = sym.st_size,
			.limit = sections->items[sym.st_shndx].end,
			.rank = GELF_ST_BIND(sym.st_info) == STB_LOCAL  ? SYMTAB_LOCAL
				: GELF_ST_BIND(sym.st_info) == STB_WEAK ? SYMTAB_WEAK
									: SYMTAB_GLOBAL,
		};
		if (!get_name(table, sym.st_name, &entry.name, &entry.name_length) ||
		    (GELF_ST_TYPE(sym.st_info) == STT_NOTYPE &&
		     is_mark(entry.name, entry.name_length)))
			continue;
		r = symtab_entries_add(list, &entry);
		if (r)
			return r;
	}
	return 0;
}

int symtab_from_elf(struct symtab **ret, int fd)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	cleanup(sections_deinit) struct sections sections = {0};
	cleanup(elf_endp) Elf *elf = NULL;
	struct table table = {0};
	GElf_Ehdr header;
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_origin(-ENOTSUP);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return SYMTAB_E_MALFORMED;
	/* In a relocatable file symbols are relative to sections that have no address yet. */
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return SYMTAB_E_NONE;
	r = read_sections(elf, &sections);
	if (r)
		return r;
	for (int i = 0; i < 2 && list.n == 0; i++) {
		r = find_table(elf, i == 0 ? SHT_SYMTAB : SHT_DYNSYM, &table);
		if (r == SYMTAB_E_NONE)
			continue;
		if (r)
			return r;
		r = collect(&table, &sections, header.e_machine == EM_ARM, &list);
		if (r)
			return r;
	}
	/*
	 * Names may share their ends in the section and are copied whole; a file whose symbols all
	 * point into one long name must not blow up.
	 */
	return symtab_build(ret, &list, false, table.names ? 2 * table.names->d_size + 65536 : 0);
}
