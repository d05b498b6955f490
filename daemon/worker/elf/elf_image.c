/* SPDX-License-Identifier: MIT */
/*
 * Section headers are read once, into an array; contents when they are asked for. Sizes that the
 * file claims are checked before libelf allocates anything for them: the number of sections, a
 * section, its decompressed form.
 *
 * Summaries are read by hand and not through libelf, because a profiler opens thousands of files
 * and this needs one pread(2) for nearly all of them: the headers, and the build id that linkers
 * put right behind them, lie in the first page. Layouts and names: elf(5).
 */
#include "daemon/worker/elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/read_end.h"

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

#define HEAD_BYTES 4096 /* read at once */
/* Of a note segment only this much is searched: linkers merge notes, the build id among the first.
 */
#define NOTES_BYTES 4096
/* The kernel runs no file with more than 64 KiB of program headers (fs/binfmt_elf.c). */
#define PROGRAM_HEADERS_MAX (65536 / sizeof(Elf32_Phdr))
/* Section headers that are looked at. Linkers put notes first, or behind their program's tables. */
#define NOTE_SECTIONS_MAX 64

/* Where the bytes come from: the first of a file, and, past them, the file itself if there is one.
 */
struct elf_image_input {
	const uint8_t *head;
	size_t head_length;
	int fd; /* or -1 */
	bool swap;
	bool is_64;
};

/* Returns enum worker_outcome. */
static int elf_input_fetch(const struct elf_image_input *in, uint64_t offset, size_t length,
			   uint8_t *ret)
{
	ssize_t n;

	if (offset <= in->head_length && length <= in->head_length - offset) {
		memcpy(ret, in->head + offset, length);
		return WORKER_DONE;
	}
	if (in->fd < 0)
		return WORKER_MALFORMED;
	n = read_range(in->fd, ret, length, offset);
	if (n < 0)
		return WORKER_UNREADABLE;
	return (size_t)n == length ? WORKER_DONE : WORKER_MALFORMED;
}

static uint64_t elf_input_number(const struct elf_image_input *in, const uint8_t *at,
				 size_t n_bytes)
{
	return bytes_number(at, n_bytes, in->swap != BYTES_HOST_IS_BIG);
}

/* The size of a structure, and a field of one at @at, of the file's class. */
#define STRUCT_SIZE(in, name) ((in)->is_64 ? sizeof(Elf64_##name) : sizeof(Elf32_##name))
#define FIELD(in, at, name, field)                                                  \
	((in)->is_64 ? elf_input_number((in), (at) + offsetof(Elf64_##name, field), \
					sizeof(((Elf64_##name *)NULL)->field))      \
		     : elf_input_number((in), (at) + offsetof(Elf32_##name, field), \
					sizeof(((Elf32_##name *)NULL)->field)))

/* A table of headers. */
struct headers {
	uint64_t offset;
	unsigned n, size;
};

static int elf_parse_header(struct elf_image_input *in, struct elf_summary *elf,
			    struct headers *ret, struct headers *ret_sections)
{
	uint8_t h[sizeof(Elf64_Ehdr)];
	int r;

	if (in->head_length < EI_NIDENT || memcmp(in->head, ELFMAG, SELFMAG) != 0)
		return WORKER_NOT_ELF;
	memcpy(h, in->head, EI_NIDENT);
	if ((h[EI_CLASS] != ELFCLASS32 && h[EI_CLASS] != ELFCLASS64) ||
	    (h[EI_DATA] != ELFDATA2LSB && h[EI_DATA] != ELFDATA2MSB) || h[EI_VERSION] != EV_CURRENT)
		return WORKER_MALFORMED;
	in->is_64 = h[EI_CLASS] == ELFCLASS64;
	in->swap = (h[EI_DATA] == ELFDATA2MSB) != BYTES_HOST_IS_BIG;
	r = elf_input_fetch(in, 0, STRUCT_SIZE(in, Ehdr), h);
	if (r)
		return r;
	elf->type = (uint16_t)FIELD(in, h, Ehdr, e_type);
	elf->machine = (uint16_t)FIELD(in, h, Ehdr, e_machine);
	elf->pointer_bytes = in->is_64 ? 8 : 4;
	*ret = (struct headers){FIELD(in, h, Ehdr, e_phoff), (unsigned)FIELD(in, h, Ehdr, e_phnum),
				(unsigned)FIELD(in, h, Ehdr, e_phentsize)};
	*ret_sections = (struct headers){FIELD(in, h, Ehdr, e_shoff),
					 (unsigned)FIELD(in, h, Ehdr, e_shnum),
					 (unsigned)FIELD(in, h, Ehdr, e_shentsize)};
	if (ret->n > PROGRAM_HEADERS_MAX || (ret->n > 0 && ret->size != STRUCT_SIZE(in, Phdr)))
		return WORKER_MALFORMED;
	return WORKER_DONE;
}

/* One program header as the 64-bit structure, whatever the file's class. */
static int elf_fetch_program_header(const struct elf_image_input *in, uint64_t offset,
				    Elf64_Phdr *ret)
{
	uint8_t h[sizeof(Elf64_Phdr)];
	int r = elf_input_fetch(in, offset, STRUCT_SIZE(in, Phdr), h);

	if (r)
		return r;
	*ret = (Elf64_Phdr){
		.p_type = (uint32_t)FIELD(in, h, Phdr, p_type),
		.p_flags = (uint32_t)FIELD(in, h, Phdr, p_flags),
		.p_offset = FIELD(in, h, Phdr, p_offset),
		.p_vaddr = FIELD(in, h, Phdr, p_vaddr),
		.p_filesz = FIELD(in, h, Phdr, p_filesz),
		.p_memsz = FIELD(in, h, Phdr, p_memsz),
	};
	return WORKER_DONE;
}

/* Sums of what is kept must not wrap, so that nobody who uses it has to care. */
static int elf_summary_add_segment(struct elf_summary *elf, const Elf64_Phdr *p)
{
	if (elf->n_segments == ELF_SUMMARY_SEGMENTS_MAX)
		return WORKER_MALFORMED;
	if (p->p_filesz > p->p_memsz || p->p_offset > UINT64_MAX - p->p_filesz ||
	    p->p_vaddr > UINT64_MAX - p->p_memsz)
		return WORKER_MALFORMED;
	elf->segments[elf->n_segments++] = (struct elf_segment){
		.vaddr = p->p_vaddr,
		.offset = p->p_offset,
		.file_size = p->p_filesz,
		.memory_size = p->p_memsz,
		.executable = p->p_flags & PF_X,
	};
	return WORKER_DONE;
}

static int elf_read_build_id(const struct elf_image_input *in, uint64_t offset, uint64_t size,
			     struct elf_summary *elf)
{
	uint8_t notes[NOTES_BYTES];
	size_t length = size < sizeof(notes) ? (size_t)size : sizeof(notes);
	int r = elf_input_fetch(in, offset, length, notes);

	if (r)
		return r;
	elf->build_id_length = elf_notes_build_id(notes, length, in->swap, elf->build_id);
	return WORKER_DONE;
}

/* Section header @i as the 64-bit structure: its type, offset and size. */
static bool elf_fetch_section(const struct elf_image_input *in, const struct headers *sections,
			      unsigned i, Elf64_Shdr *ret)
{
	uint64_t at = sections->offset + (uint64_t)i * sections->size;
	uint8_t h[sizeof(Elf64_Shdr)];

	if (elf_input_fetch(in, at, STRUCT_SIZE(in, Shdr), h))
		return false;
	ret->sh_type = (uint32_t)FIELD(in, h, Shdr, sh_type);
	ret->sh_offset = FIELD(in, h, Shdr, sh_offset);
	ret->sh_size = FIELD(in, h, Shdr, sh_size);
	return true;
}

/*
 * Go's linker (1.24 and later) puts the build id into a section that no note segment holds. Nothing
 * that is wrong with section headers is an error: a program runs without them.
 */
static void elf_find_build_id_section(const struct elf_image_input *in,
				      const struct headers *sections, struct elf_summary *elf)
{
	Elf64_Shdr sh;

	if (sections->size != STRUCT_SIZE(in, Shdr))
		return;
	for (unsigned i = 0; i < sections->n && i < NOTE_SECTIONS_MAX && !elf->build_id_length;
	     i++) {
		if (!elf_fetch_section(in, sections, i, &sh))
			return;
		if (sh.sh_type == SHT_NOTE)
			(void)elf_read_build_id(in, sh.sh_offset, sh.sh_size, elf);
	}
}

static int elf_summary_parse_input(struct elf_image_input *in, struct elf_summary *ret)
{
	struct headers headers, sections;
	struct elf_summary elf = {0};
	int r = elf_parse_header(in, &elf, &headers, &sections);

	for (unsigned i = 0; r == WORKER_DONE && i < headers.n; i++) {
		uint64_t offset = headers.offset + (uint64_t)i * headers.size;
		Elf64_Phdr p;

		r = elf_fetch_program_header(in, offset, &p);
		if (r)
			break;
		if (p.p_type == PT_LOAD)
			r = elf_summary_add_segment(&elf, &p);
		else if (p.p_type == PT_NOTE && p.p_filesz > 0 && elf.build_id_length == 0)
			r = elf_read_build_id(in, p.p_offset, p.p_filesz, &elf);
	}
	if (r == WORKER_DONE && !elf.build_id_length)
		elf_find_build_id_section(in, &sections, &elf);
	if (r == WORKER_DONE)
		*ret = elf;
	return r;
}

int elf_summary_read(int fd, struct elf_summary *ret)
{
	uint8_t head[HEAD_BYTES];
	struct elf_image_input in = {.head = head, .fd = fd};
	ssize_t n;

	n = read_range(fd, head, sizeof(head), 0);
	if (n < 0)
		return WORKER_UNREADABLE;
	in.head_length = (size_t)n;
	return elf_summary_parse_input(&in, ret);
}

int elf_summary_parse(const uint8_t *data, size_t length, struct elf_summary *ret)
{
	struct elf_image_input in = {.head = data, .head_length = length, .fd = -1};

	return elf_summary_parse_input(&in, ret);
}

bool elf_count_sections(int fd, const uint8_t *data, size_t length, uint64_t *ret)
{
	uint8_t head[sizeof(Elf64_Ehdr)];
	struct elf_image_input in = {.head = data, .head_length = length, .fd = fd};
	struct headers headers, sections;
	struct elf_summary ignored;
	Elf64_Shdr first;
	ssize_t n;

	if (fd >= 0) {
		n = read_range(fd, head, sizeof(head), 0);
		in.head = head;
		in.head_length = n < 0 ? 0 : (size_t)n;
	}
	if (elf_parse_header(&in, &ignored, &headers, &sections))
		return false;
	*ret = sections.n;
	/* Then the first section, which is none, has the number as its size. */
	if (!sections.n && sections.offset && elf_fetch_section(&in, &sections, 0, &first))
		*ret = first.sh_size;
	return true;
}
