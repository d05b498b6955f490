/* SPDX-License-Identifier: MIT */
/*
 * .dynsym as the runtime linker finds it: the dynamic segment has the addresses of the symbols, of
 * their names and of a hash table, which alone tells how many there are. (System V ABI, "Dynamic
 * Section" and "Hash Table".)
 *
 * In a copy of what a process has mapped, glibc has added to these addresses how far it moved the
 * file, wherever it could write.
 */
#include "daemon/worker/elf/elf_symbols.h"

#define DYNAMIC_MAX (64u << 10) /* bytes; a thousand times what linkers write */

/* Link-time addresses, and a length in bytes. 0: not said. */
struct elf_dynamic {
	uint64_t symbols, names, names_length, hash, gnu_hash;
};

static void elf_dynamic_take(struct elf_dynamic *d, const GElf_Dyn *entry)
{
	if (entry->d_tag == DT_SYMTAB)
		d->symbols = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRTAB)
		d->names = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRSZ)
		d->names_length = entry->d_un.d_val;
	else if (entry->d_tag == DT_HASH)
		d->hash = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_GNU_HASH)
		d->gnu_hash = entry->d_un.d_ptr;
}

/* Of copies, the entry point is where the process has the file's first byte (file_opener.h). */
static void elf_dynamic_move_back(const struct elf_image *image, struct elf_dynamic *d)
{
	uint64_t *const addresses[] = {&d->symbols, &d->names, &d->hash, &d->gnu_hash};
	uint64_t first;

	if (elf_summary_find(&image->summary, d->symbols, true) ||
	    !elf_summary_vaddr(&image->summary, 0, &first))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		if (*addresses[i])
			*addresses[i] -= image->header.e_entry - first;
}

/* False: there is no dynamic segment, or it leads to no symbols. */
static bool elf_dynamic_read(struct elf_image *image, struct elf_dynamic *ret)
{
	Elf_Data *data = NULL;
	GElf_Dyn entry;
	GElf_Phdr p;

	*ret = (struct elf_dynamic){0};
	for (int i = 0; i < image->header.e_phnum && !data; i++)
		if (gelf_getphdr(image->elf, i, &p) && p.p_type == PT_DYNAMIC)
			data = elf_image_loaded(image, p.p_vaddr,
						p.p_filesz < DYNAMIC_MAX ? p.p_filesz : DYNAMIC_MAX,
						ELF_T_DYN);
	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		elf_dynamic_take(ret, &entry);
	if (!ret->symbols || !ret->names)
		return false;
	elf_dynamic_move_back(image, ret);
	return true;
}

/*
 * The head: how many buckets, the first symbol that is in one, how many words of the filter, a
 * shift. Then the filter; the buckets, each with its first symbol; and a word for each symbol,
 * whose lowest bit marks the last one of its bucket. Buckets lie in the order of their symbols, so
 * the last bucket in use ends with the last symbol. (No standard has it; glibc's
 * elf/dl-lookup.c reads it.)
 */
static uint64_t count_by_gnu_hash(struct elf_image *image, uint64_t address)
{
	Elf_Data *data = elf_image_loaded(image, address, 16, ELF_T_WORD);
	uint32_t first, last = 0;
	const uint32_t *words;
	uint64_t n_buckets;

	if (!data || data->d_size < 16)
		return 0;
	words = data->d_buf;
	n_buckets = words[0];
	first = words[1];
	address += 16 + (uint64_t)words[2] * image->summary.pointer_bytes;
	data = elf_image_loaded(image, address, n_buckets * 4, ELF_T_WORD);
	words = data ? data->d_buf : NULL;
	for (size_t i = 0; data && i < data->d_size / 4; i++)
		last = words[i] > last ? words[i] : last;
	if (last < first)
		return 0;
	address += (n_buckets + last - first) * 4;
	data = elf_image_loaded(image, address, (uint64_t)ELF_TABLE_SYMBOLS_MAX * 4, ELF_T_WORD);
	words = data ? data->d_buf : NULL;
	for (size_t i = 0; data && i < data->d_size / 4; i++)
		if (words[i] & 1)
			return last + i + 1;
	return data ? last + data->d_size / 4 : 0;
}

/* The older table begins with two words: how many buckets, and how many symbols. */
static uint64_t elf_dynamic_count(struct elf_image *image, const struct elf_dynamic *d)
{
	Elf_Data *data = d->hash ? elf_image_loaded(image, d->hash, 8, ELF_T_WORD) : NULL;

	if (data && data->d_size == 8)
		return ((const uint32_t *)data->d_buf)[1];
	return d->gnu_hash ? count_by_gnu_hash(image, d->gnu_hash) : 0;
}

bool elf_table_dynamic(struct elf_image *image, struct elf_table *ret)
{
	size_t size = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct elf_dynamic d;
	uint64_t n;

	if (!elf_dynamic_read(image, &d))
		return false;
	n = elf_dynamic_count(image, &d);
	n = n < ELF_TABLE_SYMBOLS_MAX ? n : ELF_TABLE_SYMBOLS_MAX;
	ret->symbols = elf_image_loaded(image, d.symbols, n * size, ELF_T_SYM);
	ret->names = elf_image_loaded(image, d.names, d.names_length, ELF_T_BYTE);
	if (!ret->symbols || !ret->names)
		return false;
	ret->n = ret->symbols->d_size / size;
	ret->names_left = elf_table_names_max(ret);
	return true;
}
