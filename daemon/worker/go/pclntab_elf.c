/* SPDX-License-Identifier: MIT */

/*
 * Where an ELF file has the table, and where the code is that it tells of. The linkers of Go make a
 * section of it; others, which cgo calls, may put it among the read-only data of a
 * position-independent program.
 */
#include <string.h>

#include "common/bytes.h"

#include "daemon/worker/go/pclntab.h"

/* Of a section, bytes. Containerd's table has 12 MiB, that of the largest programs some 90. */
#define TABLE_MAX       (128u << 20)
#define RELOCATIONS_MAX (128u << 20)
#define POINTER_BYTES   8 /* what the table is aligned to in other data */
#define MODULE_MAX      65536
/* Words of moduledata (src/runtime/symtab.go), Go 1.16 to 1.26: the table's address is the first.
 */
#define MODULE_TEXT     22
#define MODULE_TEXT_END 23

static bool find_in_section(struct elf_image *image, const char *name, struct pclntab *ret,
			    uint64_t *ret_address)
{
	size_t section = elf_image_find(image, SHT_PROGBITS, name);
	Elf_Data *data = elf_image_data(image, section, TABLE_MAX);

	if (!data || !pclntab_parse(data->d_buf, data->d_size, ret))
		return false;
	*ret_address = image->sections[section].address;
	return true;
}

/* A table's first function has a name, which other bytes that look like a header do not lead to. */
static bool is_table(const uint8_t *data, size_t length, struct pclntab *ret)
{
	struct pclntab_function first;

	return pclntab_parse(data, length, ret) && ret->is_known && ret->n_functions &&
	       pclntab_function(ret, 0, &first);
}

static bool find_in_data(struct elf_image *image, struct pclntab *ret, uint64_t *ret_address)
{
	bool is_go = elf_image_find(image, SHT_PROGBITS, ".go.buildinfo");
	size_t section = is_go ? elf_image_find(image, SHT_PROGBITS, ".data.rel.ro") : 0;
	Elf_Data *data = elf_image_data(image, section, TABLE_MAX);
	uint64_t address = data ? image->sections[section].address : 0;

	for (size_t i = (size_t)(-address % POINTER_BYTES); data && i < data->d_size;
	     i += POINTER_BYTES) {
		if (!is_table((const uint8_t *)data->d_buf + i, data->d_size - i, ret))
			continue;
		*ret_address = address + i;
		return true;
	}
	return false;
}

/* What the runtime linker will write at @address; false: nothing that is known now. */
static bool find_relocation(struct elf_image *image, uint64_t address, uint64_t *ret)
{
	/* As the C linker calls them, and as Go's does. */
	static const char *const sections[] = {".rela.dyn", ".rela"};
	uint64_t relative = image->header.e_machine == EM_X86_64 ? R_X86_64_RELATIVE
								 : R_AARCH64_RELATIVE;

	for (size_t k = 0; k < ARRAY_SIZE(sections); k++) {
		Elf_Data *data = elf_image_data(image, elf_image_find(image, SHT_RELA, sections[k]),
						RELOCATIONS_MAX);
		size_t n = data ? data->d_size / gelf_fsize(image->elf, ELF_T_RELA, 1, EV_CURRENT)
				: 0;

		for (size_t i = 0; i < n; i++) {
			GElf_Rela rela;

			if (!gelf_getrela(data, (int)i, &rela) || rela.r_offset != address ||
			    GELF_R_TYPE(rela.r_info) != relative)
				continue;
			*ret = (uint64_t)rela.r_addend;
			return true;
		}
	}
	return false;
}

/* Pointer @i of moduledata, which begins at @address; its section's bytes are @data. */
static bool read_module(struct elf_image *image, const Elf_Data *data, uint64_t address, unsigned i,
			uint64_t *ret)
{
	if (find_relocation(image, address + (uint64_t)i * POINTER_BYTES, ret))
		return true;
	if (data->d_size < (size_t)(i + 1) * POINTER_BYTES)
		return false;
	*ret = bytes_number((const uint8_t *)data->d_buf + (size_t)i * POINTER_BYTES, POINTER_BYTES,
			    false);
	return true;
}

/* The code's address as the runtime itself has it, in moduledata; a section since Go 1.26. */
static bool find_text_in_module(struct elf_image *image, uint64_t address, struct pclntab *t)
{
	size_t section = elf_image_find(image, SHT_PROGBITS, ".go.module");
	Elf_Data *data = elf_image_data(image, section, MODULE_MAX);
	uint64_t at, table, text, end;

	if (!data || t->pointer_size != POINTER_BYTES)
		return false;
	at = image->sections[section].address;
	if (!read_module(image, data, at, 0, &table) || table != address ||
	    !read_module(image, data, at, MODULE_TEXT, &text) ||
	    !read_module(image, data, at, MODULE_TEXT_END, &end) || !text || end <= text)
		return false;
	t->text = text;
	return true;
}

/* Whether a function of the Go runtime begins at @entry. */
static bool has_entry(const struct pclntab *t, uint64_t entry)
{
	static const char prefix[] = "_rt0_";
	struct pclntab_function function;

	for (uint64_t i = 0; i < t->n_functions; i++)
		if (pclntab_function(t, i, &function) && function.start == entry)
			return strncmp(function.name, prefix, sizeof(prefix) - 1) == 0;
	return false;
}

/*
 * The header says where the code begins, or a relocation of it does; since Go 1.26 moduledata does.
 * If nothing does, it is where .text begins, unless other code comes before Go's: the program's
 * entry decides.
 */
static bool find_text(struct elf_image *image, uint64_t address, struct pclntab *t)
{
	size_t text;

	if (!t->text_at || t->text || find_relocation(image, address + t->text_at, &t->text) ||
	    find_text_in_module(image, address, t))
		return true;
	text = elf_image_find(image, SHT_PROGBITS, ".text");
	if (!text)
		return false;
	t->text = image->sections[text].address;
	return has_entry(t, image->header.e_entry);
}

bool pclntab_find(struct elf_image *image, struct pclntab *ret)
{
	uint64_t address;

	return !elf_image_swaps(image) &&
	       (find_in_section(image, ".gopclntab", ret, &address) ||
		find_in_section(image, ".data.rel.ro.gopclntab", ret, &address) ||
		find_in_data(image, ret, &address)) &&
	       find_text(image, address, ret);
}

int pclntab_collect(struct elf_image *image, unsigned source, struct symtab_entries *list,
		    size_t *ret_names_max)
{
	struct pclntab table;
	size_t names_left;

	*ret_names_max = 0;
	if (!pclntab_find(image, &table))
		return 0;
	/* Names may be the same bytes, in a file that is made so: memory is to go by its size. */
	names_left = *ret_names_max = table.length;
	for (uint64_t i = 0; i < table.n_functions; i++) {
		struct pclntab_function function;
		int r;

		if (!pclntab_function(&table, i, &function))
			continue;
		if (function.name_length >= names_left)
			break;
		names_left -= function.name_length + 1;
		r = symtab_entries_add(list, &(struct symtab_entry){
						     .start = function.start,
						     .size = function.end - function.start,
						     .name = function.name,
						     .name_length = function.name_length,
						     .rank = SYMTAB_LOCAL,
						     .source = source & 0x7f,
					     });
		if (r)
			return r;
	}
	return 0;
}
