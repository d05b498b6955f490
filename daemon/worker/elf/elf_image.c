/* SPDX-License-Identifier: MIT */
/*
 * Headers are read once; contents of sections when they are asked for. Sizes that the file claims
 * are checked before libelf allocates anything for them: the number of sections, a section, its
 * decompressed form. Layouts and names: elf(5).
 */
#include "daemon/worker/elf/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/read_end.h"

/* From there on section numbers have other meanings, and programs need another way to count. */
#define SECTIONS_MAX           SHN_LORESERVE
#define SECTION_NAMES_MAX      (1u << 20)
#define COMPRESSION_HEADER_MAX sizeof(Elf64_Chdr)
/* Of a note segment only this much is searched: linkers merge notes, the build id among the first.
 */
#define NOTES_BYTES 4096
/* The kernel runs no file with more than 64 KiB of program headers (fs/binfmt_elf.c). */
#define PROGRAM_HEADERS_MAX (65536 / sizeof(Elf32_Phdr))

/* A file, or (data is not NULL) one in memory. */
struct elf_source {
	int fd;
	uint8_t *data;
	size_t length;
};

/* What is wrong with sections is no error: a program runs without them. Returns 0 or -ENOMEM. */
static int elf_image_read_sections(struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	size_t n, names;
	Elf_Data *data;

	if (elf_getshdrnum(image->elf, &n) != 0 || n == 0 || n >= SECTIONS_MAX)
		return 0;
	image->sections = calloc(n, sizeof(*image->sections));
	if (!image->sections)
		return error_origin(-ENOMEM);
	image->n_sections = n;
	while ((scn = elf_nextscn(image->elf, scn)))
		if (elf_ndxscn(scn) < n)
			(void)!gelf_getshdr(scn, &image->sections[elf_ndxscn(scn)]);
	if (elf_getshdrstrndx(image->elf, &names) == 0 && names < n) {
		data = elf_image_data(image, names, SECTION_NAMES_MAX);
		image->names = data ? data->d_buf : NULL;
		image->names_length = data ? data->d_size : 0;
		if (data && image->names[image->names_length - 1])
			image->names_length = 0;
	}
	return 0;
}

/* A range of the file; NULL: none, or it ends before. */
static Elf_Data *elf_image_chunk(struct elf_image *image, uint64_t offset, uint64_t length,
				 Elf_Type type)
{
	Elf_Data *data;

	if (length == 0 || length > ELF_IMAGE_BYTES_MAX || offset > INT64_MAX)
		return NULL;
	data = elf_getdata_rawchunk(image->elf, (int64_t)offset, length, type);
	return data && data->d_buf && data->d_size ? data : NULL;
}

/* Returns WORKER_DONE or _MALFORMED: the file ends before. */
static int elf_image_read_notes(struct elf_image *image, uint64_t offset, uint64_t size)
{
	struct elf_summary *elf = &image->summary;
	Elf_Data *notes = elf_image_chunk(image, offset, size < NOTES_BYTES ? size : NOTES_BYTES,
					  ELF_T_BYTE);

	if (!notes)
		return WORKER_MALFORMED;
	elf->build_id_length = elf_notes_build_id(notes->d_buf, notes->d_size,
						  elf_image_swaps(image), elf->build_id);
	return WORKER_DONE;
}

/*
 * Go's linker (1.24 and later) puts the build id into a section that no note segment holds, and
 * what dwz makes has no segments.
 */
static void elf_image_find_build_id(struct elf_image *image)
{
	for (size_t i = 1; i < image->n_sections && !image->summary.build_id_length; i++)
		if (image->sections[i].sh_type == SHT_NOTE)
			(void)elf_image_read_notes(image, image->sections[i].sh_offset,
						   image->sections[i].sh_size);
}

static int elf_image_read_segments(struct elf_image *image)
{
	const GElf_Ehdr *h = &image->header;
	struct elf_summary *elf = &image->summary;
	int r = WORKER_DONE;

	if (h->e_phnum > PROGRAM_HEADERS_MAX ||
	    (h->e_phnum && h->e_phentsize != gelf_fsize(image->elf, ELF_T_PHDR, 1, EV_CURRENT)))
		return WORKER_MALFORMED;
	for (int i = 0; !r && i < h->e_phnum; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(image->elf, i, &p))
			return WORKER_MALFORMED;
		if (p.p_type == PT_LOAD)
			r = elf_summary_add(elf, &p) ? WORKER_DONE : WORKER_MALFORMED;
		else if (p.p_type == PT_NOTE && p.p_filesz && !elf->build_id_length)
			r = elf_image_read_notes(image, p.p_offset, p.p_filesz);
	}
	return r;
}

/* The first bytes at @offset; how many there are, up to @size, or -1. */
static ssize_t elf_source_read(const struct elf_source *source, uint64_t offset, uint8_t *ret,
			       size_t size)
{
	if (!source->data)
		return read_range(source->fd, ret, size, offset);
	if (offset >= source->length)
		return 0;
	size = size < source->length - offset ? size : (size_t)(source->length - offset);
	memcpy(ret, source->data + offset, size);
	return (ssize_t)size;
}

/*
 * libelf makes room for as many sections as a file says it has, if only the file is long enough;
 * and a file with holes is as long as it likes. The number is in the header or, where that says 0,
 * the size of the first section, which is none. Returns enum worker_outcome.
 */
static int elf_source_check(const struct elf_source *source)
{
	uint8_t h[sizeof(Elf64_Ehdr)], first[sizeof(Elf64_Shdr)] = {0};
	ssize_t n = elf_source_read(source, 0, h, sizeof(h));
	bool is_64, is_big;
	uint64_t offset;

	if (n < 0)
		return WORKER_UNREADABLE;
	if (n < EI_NIDENT || memcmp(h, ELFMAG, SELFMAG) != 0)
		return WORKER_NOT_ELF;
	is_64 = h[EI_CLASS] == ELFCLASS64;
	is_big = h[EI_DATA] == ELFDATA2MSB;
	if ((size_t)n < (is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return WORKER_MALFORMED;
	if (bytes_number(h + (is_64 ? offsetof(Elf64_Ehdr, e_shnum)
				    : offsetof(Elf32_Ehdr, e_shnum)),
			 2, is_big))
		return WORKER_DONE;
	offset = is_64 ? bytes_number(h + offsetof(Elf64_Ehdr, e_shoff), 8, is_big)
		       : bytes_number(h + offsetof(Elf32_Ehdr, e_shoff), 4, is_big);
	if (!offset || elf_source_read(source, offset, first, sizeof(first)) < 0)
		return WORKER_DONE;
	return (is_64 ? bytes_number(first + offsetof(Elf64_Shdr, sh_size), 8, is_big)
		      : bytes_number(first + offsetof(Elf32_Shdr, sh_size), 4, is_big)) <
			       SECTIONS_MAX
		       ? WORKER_DONE
		       : WORKER_MALFORMED;
}

static int elf_image_begin(struct elf_image *image, const struct elf_source *source)
{
	int r = elf_source_check(source);

	if (r)
		return r;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_origin(-ENOTSUP);
	image->elf = source->data ? elf_memory((char *)source->data, source->length)
				  : elf_begin(source->fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    !gelf_getehdr(image->elf, &image->header))
		return WORKER_MALFORMED;
	image->summary.type = image->header.e_type;
	image->summary.machine = image->header.e_machine;
	image->summary.pointer_bytes = image->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	r = elf_image_read_segments(image) ?: elf_image_read_sections(image);
	if (!r && !image->summary.build_id_length)
		elf_image_find_build_id(image);
	return r;
}

int elf_image_open(struct elf_image *ret, int fd, size_t budget)
{
	*ret = (struct elf_image){.budget = budget};
	return elf_image_begin(ret, &(struct elf_source){.fd = fd});
}

int elf_image_open_memory(struct elf_image *ret, uint8_t *data, size_t length, size_t budget)
{
	*ret = (struct elf_image){.budget = budget};
	return elf_image_begin(ret, &(struct elf_source){.data = data, .length = length});
}

void elf_image_deinit(struct elf_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	free(image->sections);
	*image = (struct elf_image){0};
}

bool elf_image_is_linked(const struct elf_image *image)
{
	return image->header.e_type == ET_EXEC || image->header.e_type == ET_DYN;
}

bool elf_image_swaps(const struct elf_image *image)
{
	return (image->header.e_ident[EI_DATA] == ELFDATA2MSB) != BYTES_HOST_IS_BIG;
}

const char *elf_image_section_name(const struct elf_image *image, size_t section)
{
	uint32_t at = image->sections[section].sh_name;

	return at < image->names_length ? image->names + at : "";
}

size_t elf_image_find(const struct elf_image *image, uint32_t type, const char *name)
{
	for (size_t i = 1; i < image->n_sections; i++) {
		if ((type == SHT_NULL || image->sections[i].sh_type == type) &&
		    (!name || strcmp(elf_image_section_name(image, i), name) == 0))
			return i;
	}
	return 0;
}

/* Afterwards libelf has the section decompressed. */
static bool elf_image_decompress(struct elf_image *image, GElf_Shdr *s, Elf_Scn *scn, size_t max)
{
	GElf_Chdr header;

	if (s->sh_size < COMPRESSION_HEADER_MAX || !gelf_getchdr(scn, &header))
		return false;
	if (header.ch_size > max || header.ch_size > image->budget)
		return false;
	image->budget -= header.ch_size;
	if (elf_compress(scn, 0, 0) < 0)
		return false;
	s->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	return true;
}

Elf_Data *elf_image_data(struct elf_image *image, size_t section, size_t max)
{
	GElf_Shdr *s;
	Elf_Data *data;
	Elf_Scn *scn;

	if (section == 0 || section >= image->n_sections)
		return NULL;
	s = &image->sections[section];
	scn = elf_getscn(image->elf, section);
	if (!scn || s->sh_type == SHT_NOBITS || s->sh_size > max)
		return NULL;
	if ((s->sh_flags & SHF_COMPRESSED) && !elf_image_decompress(image, s, scn, max))
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

Elf_Data *elf_image_loaded(struct elf_image *image, uint64_t address, uint64_t size, Elf_Type type)
{
	const struct elf_segment *segment = elf_summary_find(&image->summary, address, true);
	uint64_t at, rest;

	if (!segment)
		return NULL;
	at = address - segment->vaddr;
	rest = segment->file_size - at;
	return elf_image_chunk(image, segment->offset + at, size < rest ? size : rest, type);
}

size_t elf_image_read(struct elf_image *image, uint64_t address, uint8_t *ret, size_t size)
{
	Elf_Data *data = elf_image_loaded(image, address, size, ELF_T_BYTE);

	if (!data)
		return 0;
	size = data->d_size < size ? data->d_size : size;
	memcpy(ret, data->d_buf, size);
	return size;
}

bool elf_image_notes(struct elf_image *image, size_t i, struct elf_notes *ret)
{
	const size_t section = i - image->header.e_phnum;
	uint64_t offset = 0, size = 0;
	GElf_Phdr p;
	Elf_Data *data;

	*ret = (struct elf_notes){.swap = elf_image_swaps(image)};
	if (i < image->header.e_phnum) {
		if (gelf_getphdr(image->elf, (int)i, &p) && p.p_type == PT_NOTE) {
			offset = p.p_offset;
			size = p.p_filesz;
		}
	} else if (section >= image->n_sections) {
		return false;
	} else if (image->sections[section].sh_type == SHT_NOTE) {
		offset = image->sections[section].sh_offset;
		size = image->sections[section].sh_size;
	}
	data = elf_image_chunk(image, offset, size < NOTES_BYTES ? size : NOTES_BYTES, ELF_T_BYTE);
	if (data) {
		ret->at = data->d_buf;
		ret->left = data->d_size;
	}
	return true;
}

int elf_summary_read(int fd, struct elf_summary *ret)
{
	cleanup(elf_image_deinit) struct elf_image image;
	int r = elf_image_open(&image, fd, 0);

	if (!r)
		*ret = image.summary;
	return r;
}
