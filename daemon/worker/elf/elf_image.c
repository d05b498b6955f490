/* SPDX-License-Identifier: MIT */
/*
 * Section headers are read once, into an array; contents when they are asked for. Sizes that the
 * file claims are checked before libelf allocates anything for them: the number of sections, a
 * section, its decompressed form.
 */
#include "daemon/worker/elf/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "daemon/worker/elf/elf.h"

/* From there on section numbers have other meanings, and programs need another way to count. */
#define SECTIONS_MAX           SHN_LORESERVE
#define SECTION_NAMES_MAX      (1u << 20)
#define NOTES_MAX              65536
#define COMPRESSION_HEADER_MAX sizeof(Elf64_Chdr)

static int elf_image_read_sections(struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	size_t n, names;
	GElf_Shdr sh;
	Elf_Data *data;

	if (elf_getshdrnum(image->elf, &n) != 0 || n >= SECTIONS_MAX)
		return ELF_IMAGE_E_MALFORMED;
	if (n == 0)
		return ELF_IMAGE_E_OK;
	image->sections = calloc(n, sizeof(*image->sections));
	if (!image->sections)
		return error_origin(-ENOMEM);
	image->n_sections = n;
	while ((scn = elf_nextscn(image->elf, scn))) {
		size_t i = elf_ndxscn(scn);

		if (i >= n || !gelf_getshdr(scn, &sh))
			continue;
		image->sections[i] = (struct elf_section){
			.flags = sh.sh_flags,
			.address = sh.sh_addr,
			.end = sh.sh_addr <= UINT64_MAX - sh.sh_size ? sh.sh_addr + sh.sh_size
								     : UINT64_MAX,
			.size = sh.sh_size,
			.entry_size = sh.sh_entsize,
			.type = sh.sh_type,
			.link = sh.sh_link,
			.name = sh.sh_name,
		};
	}
	if (elf_getshdrstrndx(image->elf, &names) == 0 && names < n) {
		data = elf_image_data(image, names, SECTION_NAMES_MAX);
		image->names = data ? data->d_buf : NULL;
		image->names_length = data ? data->d_size : 0;
	}
	return ELF_IMAGE_E_OK;
}

/*
 * @fd: or -1, the file is in memory. libelf makes room for as many sections as a file says it has,
 * if only the file is long enough; and a file with holes is as long as it likes.
 */
static int elf_image_begin(struct elf_image *image, int fd, uint8_t *data, size_t length)
{
	uint64_t n;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_origin(-ENOTSUP);
	if (!elf_count_sections(fd, data, length, &n) || n >= SECTIONS_MAX)
		return ELF_IMAGE_E_MALFORMED;
	image->elf = fd < 0 ? elf_memory((char *)data, length) : elf_begin(fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    !gelf_getehdr(image->elf, &image->header))
		return ELF_IMAGE_E_MALFORMED;
	return elf_image_read_sections(image);
}

int elf_image_open(struct elf_image *ret, int fd, size_t budget)
{
	*ret = (struct elf_image){.budget = budget};
	return elf_image_begin(ret, fd, NULL, 0);
}

int elf_image_open_memory(struct elf_image *ret, uint8_t *data, size_t length, size_t budget)
{
	*ret = (struct elf_image){.budget = budget};
	return elf_image_begin(ret, -1, data, length);
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

static bool elf_section_is_named(const struct elf_image *image, const struct elf_section *s,
				 const char *name)
{
	size_t length = strlen(name) + 1;

	return s->name < image->names_length && length <= image->names_length - s->name &&
	       memcmp(image->names + s->name, name, length) == 0;
}

size_t elf_image_find(const struct elf_image *image, uint32_t type, const char *name)
{
	for (size_t i = 1; i < image->n_sections; i++) {
		const struct elf_section *s = &image->sections[i];

		if ((type == SHT_NULL || s->type == type) &&
		    (!name || elf_section_is_named(image, s, name)))
			return i;
	}
	return 0;
}

/* Afterwards libelf has the section decompressed. */
static bool elf_image_decompress(struct elf_image *image, struct elf_section *s, Elf_Scn *scn,
				 size_t max)
{
	GElf_Chdr header;

	if (s->size < COMPRESSION_HEADER_MAX || !gelf_getchdr(scn, &header))
		return false;
	if (header.ch_size > max || header.ch_size > image->budget)
		return false;
	image->budget -= header.ch_size;
	if (elf_compress(scn, 0, 0) < 0)
		return false;
	s->flags &= ~(uint64_t)SHF_COMPRESSED;
	return true;
}

Elf_Data *elf_image_data(struct elf_image *image, size_t section, size_t max)
{
	struct elf_section *s;
	Elf_Data *data;
	Elf_Scn *scn;

	if (section == 0 || section >= image->n_sections)
		return NULL;
	s = &image->sections[section];
	scn = elf_getscn(image->elf, section);
	if (!scn || s->type == SHT_NOBITS || s->size > max)
		return NULL;
	if ((s->flags & SHF_COMPRESSED) && !elf_image_decompress(image, s, scn, max))
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

uint32_t elf_image_build_id(struct elf_image *image, uint8_t ret[ELF_BUILD_ID_MAX])
{
	Elf_Data *notes = elf_image_data(image,
					 elf_image_find(image, SHT_NOTE, ".note.gnu.build-id"),
					 NOTES_MAX);

	/* libelf has brought the notes' headers into our byte order. */
	return notes ? elf_notes_build_id(notes->d_buf, notes->d_size, false, ret) : 0;
}

Elf_Data *elf_image_chunk(struct elf_image *image, uint64_t offset, uint64_t length, Elf_Type type)
{
	Elf_Data *data;

	if (length == 0 || length > ELF_IMAGE_BYTES_MAX || offset > INT64_MAX)
		return NULL;
	data = elf_getdata_rawchunk(image->elf, (int64_t)offset, length, type);
	return data && data->d_buf && data->d_size ? data : NULL;
}

bool elf_image_locate(const struct elf_image *image, uint64_t address, uint64_t *ret_offset,
		      uint64_t *ret_length)
{
	GElf_Phdr segment;

	for (int i = 0; i < image->header.e_phnum && gelf_getphdr(image->elf, i, &segment); i++) {
		uint64_t at = address - segment.p_vaddr;

		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
		    at >= segment.p_filesz || segment.p_offset > UINT64_MAX - at)
			continue;
		*ret_offset = segment.p_offset + at;
		*ret_length = segment.p_filesz - at;
		return true;
	}
	return false;
}

size_t elf_image_read(struct elf_image *image, uint64_t address, uint8_t *ret, size_t size)
{
	uint64_t offset, rest;
	Elf_Data *data;

	if (!elf_image_locate(image, address, &offset, &rest))
		return 0;
	data = elf_image_chunk(image, offset, size < rest ? size : rest, ELF_T_BYTE);
	if (!data)
		return 0;
	size = data->d_size < size ? data->d_size : size;
	memcpy(ret, data->d_buf, size);
	return size;
}
