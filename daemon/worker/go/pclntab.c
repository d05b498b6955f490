/* SPDX-License-Identifier: MIT */
/*
 * A header, and from there in the order of addresses two numbers for each function, its address and
 * where more is said of it; an address ends the last one. More is, first of all, the address again
 * and the offset of its name. Numbers are pointers, or of 32 bits since Go 1.18. Numbers by pc are
 * differences, of the number and of how far it holds, in seven bits a byte.
 *
 * Where an ELF file has the table, and where the code is that it tells of. The linkers of Go make a
 * section of it; others, which cgo calls, may put it among the read-only data of a
 * position-independent program.
 */
#include "daemon/worker/go/pclntab.h"

#include <string.h>

#include "common/bytes.h"

#define HEADER_BYTES 8
/* The least that is said of a function, with its two numbers. */
#define FUNCTION_BYTES 40

/*
 * The releases whose format the header names, the newest last. Its fields, and what is said of a
 * function, bytes from its beginning (Go 1.16: with 8-byte pointers); 0: not there, or not used.
 */
static const struct pclntab_version {
	uint32_t magic;
	unsigned n_fields, text, names, steps, functions; /* fields */
	unsigned depths, flags;
} versions[] = {
	{0xfffffffb, 1, 0, 0, 0, 0, 0, 0},   /* Go 1.2 */
	{0xfffffffa, 7, 0, 2, 5, 6, 20, 41}, /* Go 1.16; flags: since Go 1.17 */
	{0xfffffff0, 8, 2, 3, 6, 7, 16, 37}, /* Go 1.18 */
	{0xfffffff1, 8, 2, 3, 6, 7, 16, 41}, /* Go 1.20: the line that a function starts in */
};

/* All have had the same upper bytes. */
#define MAGIC_BITS 0xffffff00u

/* Of @size bytes, 4 or 8, which are there. */
static uint64_t pclntab_read_number(const uint8_t *at, unsigned size)
{
	return bytes_number(at, size, false);
}

static uint32_t pclntab_read_32(const uint8_t *at)
{
	return (uint32_t)pclntab_read_number(at, 4);
}

/* The header's field @i. */
static uint64_t pclntab_header_field(const struct pclntab *t, unsigned i)
{
	return pclntab_read_number(t->data + HEADER_BYTES + (size_t)i * t->pointer_size,
				   t->pointer_size);
}

/* All of a version's positions. False: they are not within the table. */
static bool pclntab_find_parts(struct pclntab *t, const struct pclntab_version *v)
{
	size_t header = HEADER_BYTES + (size_t)v->n_fields * t->pointer_size;

	if (header > t->length)
		return false;
	t->n_functions = pclntab_header_field(t, 0);
	t->functions = header;
	if (v->functions) {
		t->names = pclntab_header_field(t, v->names);
		t->functions = t->code_at = pclntab_header_field(t, v->functions);
	}
	if (v->text) {
		t->text = pclntab_header_field(t, v->text);
		t->text_at = HEADER_BYTES + (size_t)v->text * t->pointer_size;
	}
	if (v->steps && (v->text || t->pointer_size == 8))
		t->steps = pclntab_header_field(t, v->steps);
	if (t->steps) {
		t->depths_at = v->depths;
		t->flags_at = v->flags;
	}
	return t->names <= t->length && t->functions <= t->length && t->steps <= t->length &&
	       t->n_functions <= (t->length - t->functions) / FUNCTION_BYTES;
}

bool pclntab_parse(const uint8_t *data, size_t length, struct pclntab *ret)
{
	const struct pclntab_version *v = versions, *newest = v + ARRAY_SIZE(versions) - 1;
	uint32_t magic;

	if (length < HEADER_BYTES || data[4] || data[5] ||
	    (data[6] != 1 && data[6] != 2 && data[6] != 4) || (data[7] != 4 && data[7] != 8))
		return false;
	magic = pclntab_read_32(data);
	while (v < newest && magic != v->magic)
		v++;
	*ret = (struct pclntab){.data = data,
				.length = length,
				.pointer_size = data[7],
				.is_known = magic == v->magic};
	return (magic & MAGIC_BITS) == MAGIC_BITS && pclntab_find_parts(ret, v);
}

static bool pclntab_read_name(const struct pclntab *t, uint64_t at, struct pclntab_function *ret)
{
	size_t length = t->length - t->names, max;

	if (at >= length)
		return false;
	length -= at;
	max = length < PCLNTAB_NAME_MAX ? length : PCLNTAB_NAME_MAX;
	ret->name.at = (const char *)t->data + t->names + at;
	ret->name.length = strnlen(ret->name.at, max);
	return ret->name.length > 0 && ret->name.length < length;
}

bool pclntab_function(const struct pclntab *t, uint64_t i, struct pclntab_function *ret)
{
	unsigned size = t->text_at ? 4 : t->pointer_size;
	/* Three numbers are there: FUNCTION_BYTES of each function are. */
	const uint8_t *entry = t->data + t->functions + 2 * i * size, *more;
	uint64_t at = pclntab_read_number(entry + size, size);
	size_t length = t->length - t->code_at;

	*ret = (struct pclntab_function){
		.start = t->text + pclntab_read_number(entry, size),
		.end = t->text + pclntab_read_number(entry + (size_t)2 * size, size),
	};
	if (ret->start >= ret->end || at > length || length - at < (size_t)size + 4)
		return false;
	more = t->data + t->code_at + at;
	/* What is said of a function begins with where it is, again. */
	if (!t->is_known && pclntab_read_number(more, size) != pclntab_read_number(entry, size))
		return false;
	if (t->flags_at && length - at > t->flags_at) {
		ret->flags = more[t->flags_at];
		ret->depths = pclntab_read_32(more + t->depths_at);
	}
	return pclntab_read_name(t, pclntab_read_32(more + size), ret);
}

void pclntab_depths_init(struct pclntab_depths *ret, const struct pclntab *t,
			 const struct pclntab_function *f)
{
	*ret = (struct pclntab_depths){.quantum = t->data[6], .depth = -1};
	if (!f->depths || f->depths >= t->length - t->steps)
		return;
	ret->rest = (struct wire){t->data + t->steps + f->depths, t->data + t->length};
}

bool pclntab_depths_next(struct pclntab_depths *d)
{
	uint64_t change, distance;

	/* No change ends it, but the first may be none. */
	if (!wire_varint(&d->rest, &change) || (!change && d->has_begun) ||
	    !wire_varint(&d->rest, &distance) || change > UINT32_MAX || distance > UINT32_MAX)
		return false;
	d->has_begun = true;
	/* Signs are in the lowest bit. */
	d->depth += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
	d->distance += distance * d->quantum;
	return true;
}

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
	*ret_address = image->sections[section].sh_addr;
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
	uint64_t address = data ? image->sections[section].sh_addr : 0;

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
	at = image->sections[section].sh_addr;
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
	struct pclntab_function function;

	for (uint64_t i = 0; i < t->n_functions; i++)
		if (pclntab_function(t, i, &function) && function.start == entry)
			return span_starts(function.name, "_rt0_");
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
	t->text = image->sections[text].sh_addr;
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
		    size_t *names_max)
{
	struct pclntab table;
	size_t names_left;

	if (!pclntab_find(image, &table))
		return 0;
	/* Names may be the same bytes, in a file that is made so: memory is to go by its size. */
	names_left = table.length;
	*names_max += table.length;
	for (uint64_t i = 0; i < table.n_functions; i++) {
		struct pclntab_function function;
		int r;

		if (!pclntab_function(&table, i, &function))
			continue;
		if (function.name.length >= names_left)
			break;
		names_left -= function.name.length + 1;
		r = symtab_entries_add(list, &(struct symtab_entry){
						     .start = function.start,
						     .size = function.end - function.start,
						     .name = function.name.at,
						     .name_length = (uint32_t)function.name.length,
						     .rank = SYMTAB_LOCAL,
						     .source = source & 0x7f,
					     });
		if (r)
			return r;
	}
	return 0;
}
