/* SPDX-License-Identifier: MIT */

/*
 * libdw reads all sections of DWARF into memory at once, and inflates those that are compressed;
 * what they claim to be has a bound before that. An index of the units' ranges is made at once too,
 * because .debug_aranges is missing where clang or Rust compiled; a unit is read when the first
 * address within it is asked for. By struct dwarf_reader ranges and memory are bounded; what libdw
 * keeps for itself (abbreviations) grows with the file alone.
 *
 * libdw knows paths: it asks for that of the file, and where an alternate file or one that was
 * split off (.dwo) is not at hand, it tries to open it. The worker may do neither, and the calls
 * fail; a unit that was split off is known by its skeleton.
 */
#include "daemon/worker/dwarf/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/partition_point.h"
#include "common/room.h"
#include "daemon/worker/dwarf/dwarf_lines_private.h"
#include "daemon/worker/elf/elf_image.h"

/* Of all sections together, as they are in the file and inflated; the rest is for what they say. */
/* Of what the worker has: sections, and all that is read of them. */
#define SECTIONS_SHARE(bytes) ((bytes) / 2)
#define ALL_SHARE(bytes)      ((bytes) / 4 * 3)
/* libdw's word for a unit and the abbreviations that it begins with, and our own. */
#define UNIT_BYTES (1024 + sizeof(struct dwarf_unit))

/* Ranks in the index: who says where a unit's code is. */
enum { INDEX_ARANGES, INDEX_UNIT };

/* Sections of DWARF that we look into ourselves, by their names behind "debug_". */
enum dwarf_section { SECTION_INFO, SECTION_LINE, SECTION_STR, SECTION_LINE_STR, N_DWARF_SECTIONS };

static const char *const section_names[] = {"info", "line", "str", "line_str"};

/* A file as libelf and libdw have it. */
struct dwarf_file {
	struct elf_image image;
	Dwarf *dwarf;                        /* NULL: it has none */
	uint64_t bytes;                      /* of its sections, as far as they are in memory */
	Elf_Scn *sections[N_DWARF_SECTIONS]; /* the first of each name; NULL: none */
};

struct dwarf_lines {
	struct dwarf_file file, alternate;
	struct dwarf_reader reader;
	uint64_t max_sections; /* bytes */
	struct dwarf_unit *units;
	size_t n_units, size;
	struct flat_ranges index; /* values: units */
};

static void dwarf_file_deinit(struct dwarf_file *f)
{
	if (f->dwarf)
		dwarf_end(f->dwarf);
	elf_image_deinit(&f->image);
	*f = (struct dwarf_file){0};
}

/*
 * Bytes that a section of DWARF becomes, if it is compressed (ELF gABI, "Section Compression"; and
 * GNU's older way: .zdebug_*, "ZLIB" and the size, most significant byte first).
 */
static uint64_t decompressed_size(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	GElf_Chdr chdr;
	uint8_t head[12];
	Elf_Data *data;

	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
	if (strncmp(name, ".zdebug_", 8) != 0)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size < sizeof(head))
		return 0;
	memcpy(head, data->d_buf, sizeof(head));
	return memcmp(head, "ZLIB", 4) == 0 ? bytes_number(head + 4, 8, true) : 0;
}

/* Returns WORKER_DONE, or _NO_MEMORY: more than @max bytes. */
static int dwarf_file_find_sections(struct dwarf_file *f, uint64_t max)
{
	for (size_t n = 1; n < f->image.n_sections; n++) {
		const char *name = elf_image_section_name(&f->image, n);
		const GElf_Shdr *sh = &f->image.sections[n];
		Elf_Scn *scn = elf_getscn(f->image.elf, n);
		uint64_t size;

		if (!scn || sh->sh_type == SHT_NOBITS ||
		    (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0))
			continue;
		for (size_t i = 0; i < N_DWARF_SECTIONS; i++)
			if (!f->sections[i] && strcmp(strchr(name, '_') + 1, section_names[i]) == 0)
				f->sections[i] = scn;
		if (sh->sh_size > max - f->bytes)
			return WORKER_NO_MEMORY;
		f->bytes += sh->sh_size;
		size = decompressed_size(scn, sh, name);
		if (size > max - f->bytes)
			return WORKER_NO_MEMORY;
		f->bytes += size;
	}
	return WORKER_DONE;
}

/* A section's bytes, inflated once libdw has opened the file. NULL: none. */
static const Elf_Data *dwarf_file_data(const struct dwarf_file *f, enum dwarf_section section)
{
	return f->sections[section] ? elf_rawdata(f->sections[section], NULL) : NULL;
}

/* libdw sees to it that a text begins within its section; here, that it ends there. */
static bool dwarf_file_ends_strings(const struct dwarf_file *f, enum dwarf_section section)
{
	const Elf_Data *data = dwarf_file_data(f, section);

	return !data || !data->d_buf || !data->d_size ||
	       ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

/* Returns WORKER_DONE (f->dwarf: or NULL), another outcome, or negative errno. */
static int dwarf_file_open(struct dwarf_file *f, int fd, uint64_t max)
{
	int r = elf_image_open(&f->image, fd, 0) ?: dwarf_file_find_sections(f, max);

	if (r != WORKER_DONE || !f->sections[SECTION_INFO])
		return r;
	f->dwarf = dwarf_begin_elf(f->image.elf, DWARF_C_READ, NULL);
	return f->dwarf && dwarf_file_ends_strings(f, SECTION_STR) &&
			       dwarf_file_ends_strings(f, SECTION_LINE_STR)
		       ? WORKER_DONE
		       : WORKER_MALFORMED;
}

/* All that is needed is in memory by now; the descriptor is the caller's. */
static void dwarf_file_detach_fd(struct dwarf_file *f)
{
	if (f->image.elf)
		elf_cntl(f->image.elf, ELF_C_FDDONE);
}

/* Attaches the file that dwz made, if @fd is the one. A broken one is none. */
static int dwarf_attach_alternate(struct dwarf_lines *d, int fd)
{
	const struct elf_summary *has = &d->alternate.image.summary;
	const void *wanted;
	const char *name;
	ssize_t length;
	int r;

	length = dwelf_dwarf_gnu_debugaltlink(d->file.dwarf, &name, &wanted);
	if (fd < 0 || length <= 0)
		return 0;
	r = dwarf_file_open(&d->alternate, fd, d->max_sections - d->file.bytes);
	if (r < 0)
		return r;
	if (r != WORKER_DONE || !d->alternate.dwarf || has->build_id_length != length ||
	    memcmp(has->build_id, wanted, (size_t)length) != 0)
		dwarf_file_deinit(&d->alternate);
	else
		dwarf_setalt(d->file.dwarf, d->alternate.dwarf);
	return 0;
}

/* Units are in the order of their offsets. */
static bool dwarf_lines_find_unit(struct dwarf_lines *d, Dwarf_Off offset, uint32_t *ret)
{
	size_t at = partition_point(d->n_units, i, dwarf_dieoffset(&d->units[i].die) < offset);

	if (at == d->n_units || dwarf_dieoffset(&d->units[at].die) != offset)
		return false;
	*ret = (uint32_t)at;
	return true;
}

/*
 * .debug_aranges, for units that do not say themselves where all of their code is (DWARF 2 has no
 * words for more than one range). What they do say counts more.
 */
static int index_aranges(struct dwarf_lines *d)
{
	Dwarf_Aranges *aranges;
	size_t n;
	int r = 0;

	if (dwarf_getaranges(d->file.dwarf, &aranges, &n) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < n && d->reader.n_ranges < DWARF_RANGES_MAX; i++) {
		struct flat_range range = {.rank = INDEX_ARANGES};
		Dwarf_Addr start;
		Dwarf_Word length;
		Dwarf_Off offset;

		d->reader.n_ranges++;
		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) !=
			    0 ||
		    start > UINT64_MAX - length || !dwarf_lines_find_unit(d, offset, &range.value))
			continue;
		range.start = start;
		range.end = start + length;
		r = dwarf_range_add(&d->reader, &range, &d->index);
	}
	return r;
}

/* Returns WORKER_DONE, _NO_MEMORY: more units than anybody compiles together, or -ENOMEM. */
static int dwarf_lines_list_units(struct dwarf_lines *d)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int r = 0;

	while (r == 0 && dwarf_get_units(d->file.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		int tag = dwarf_tag(&die);

		/* Whatever sort of unit it is: libdw has it in memory now. */
		d->reader.bytes += UNIT_BYTES;
		if (d->reader.bytes > d->reader.max_bytes)
			return WORKER_NO_MEMORY;
		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			r = room_append(&d->units, &d->size, &d->n_units,
					(struct dwarf_unit){.die = die});
	}
	return r;
}

static int dwarf_lines_build_index(struct dwarf_lines *d)
{
	int r = dwarf_lines_list_units(d);

	for (uint32_t i = 0; r == 0 && i < d->n_units; i++)
		r = dwarf_die_ranges(&d->reader, &d->units[i].die, INDEX_UNIT, i, &d->index);
	if (r == 0)
		r = index_aranges(d);
	return r ?: flat_build(&d->index);
}

/* Chooses between the two files. Returns as dwarf_lines_new(). */
static int dwarf_lines_open_files(struct dwarf_lines *d, const struct dwarf_lines_files *files)
{
	int r = WORKER_DONE;

	if (files->debug >= 0)
		r = dwarf_file_open(&d->file, files->debug, d->max_sections);
	if (r == WORKER_DONE && !d->file.dwarf) {
		dwarf_file_deinit(&d->file);
		r = dwarf_file_open(&d->file, files->image, d->max_sections);
	}
	if (r != WORKER_DONE || !d->file.dwarf)
		return r;
	if (elf_summary_read(files->image, &d->reader.elf) != WORKER_DONE)
		return WORKER_MALFORMED;
	/* Without relocation, DWARF of a relocatable file says nothing about addresses. */
	if (d->reader.elf.type != ET_EXEC && d->reader.elf.type != ET_DYN) {
		dwarf_file_deinit(&d->file);
		return WORKER_DONE;
	}
	return dwarf_attach_alternate(d, files->alternate);
}

int dwarf_lines_new(struct dwarf_lines **ret, const struct dwarf_lines_files *files)
{
	cleanup(dwarf_lines_freep) struct dwarf_lines *d = NULL;
	int r;

	d = calloc(1, sizeof(*d));
	if (!d)
		return error_origin(-ENOMEM);
	d->max_sections = SECTIONS_SHARE(files->memory_bytes);
	dwarf_lines_allow(d, files->memory_bytes);
	r = dwarf_lines_open_files(d, files);
	if (r != WORKER_DONE)
		return r;
	if (d->file.dwarf) {
		d->reader.is_big = d->file.image.header.e_ident[EI_DATA] == ELFDATA2MSB;
		d->reader.line_data = dwarf_file_data(&d->file, SECTION_LINE);
		d->reader.info_data[0] = dwarf_file_data(&d->file, SECTION_INFO);
		if (d->alternate.dwarf)
			d->reader.info_data[1] = dwarf_file_data(&d->alternate, SECTION_INFO);
		d->reader.bytes = d->file.bytes + d->alternate.bytes;
		r = dwarf_lines_build_index(d);
		if (r)
			return r;
	}
	dwarf_file_detach_fd(&d->file);
	dwarf_file_detach_fd(&d->alternate);
	*ret = steal_ptr(&d);
	return WORKER_DONE;
}

void dwarf_lines_allow(struct dwarf_lines *d, uint64_t memory_bytes)
{
	d->reader.max_bytes = ALL_SHARE(memory_bytes);
}

void dwarf_lines_free(struct dwarf_lines *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_units; i++)
		dwarf_unit_deinit(&d->units[i]);
	free(d->units);
	flat_deinit(&d->index);
	dwarf_file_deinit(&d->file);
	dwarf_file_deinit(&d->alternate);
	free(d);
}

size_t dwarf_lines_bytes(const struct dwarf_lines *d)
{
	return sizeof(*d) + d->index.size * sizeof(*d->index.items) + d->reader.bytes;
}

/* The line table's row for @address. */
static void dwarf_lines_find_line(struct dwarf_reader *r, struct dwarf_unit *u, uint64_t address,
				  struct frame_name *ret)
{
	Dwarf_Files *files;
	Dwarf_Line *row;
	size_t file;
	int line;

	if (!u->lines)
		return;
	row = dwarf_getsrc_die(&u->die, address);
	if (!row || dwarf_lineno(row, &line) != 0 || dwarf_line_file(row, &files, &file) != 0)
		return;
	/* Of code that the compiler made up, or merged from several lines, there is but a file. */
	ret->line = line > 0 ? (uint32_t)line : 0;
	ret->file = dwarf_unit_file(r, u, file);
}

/* From the innermost scope outwards; @frame has the line within that. */
static size_t dwarf_lines_find_frames(struct dwarf_lines *d, struct dwarf_unit *u, uint32_t number,
				      struct frame_name frame, struct frame_name *ret, size_t max)
{
	size_t n = 0;

	for (;;) {
		struct dwarf_scope *s = &u->scopes[number];

		dwarf_scope_name(&d->reader, u, s);
		frame.system_name = s->name ? s->name : "";
		frame.start_line = s->start_line;
		/* An inlined function without a name is none that anybody has written. */
		if (s->name || s->parent == DWARF_NO_SCOPE)
			ret[n < max ? n++ : max - 1] = frame;
		if (s->parent == DWARF_NO_SCOPE)
			return n;
		frame.file = s->call_file;
		frame.line = s->call_line;
		number = s->parent;
	}
}

size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t address, struct frame_name *ret, size_t max,
			uint64_t *ret_start, uint64_t *ret_size)
{
	const struct flat_range *range = flat_find(&d->index, address), *innermost;
	struct frame_name frame = {.system_name = ""};
	struct dwarf_unit *u;

	if (!range || max == 0)
		return 0;
	u = &d->units[range->value];
	/* Without memory the unit is refused; what is known of the others stays. */
	if (u->state == DWARF_UNIT_NEW)
		(void)dwarf_unit_read(&d->reader, u);
	if (u->state != DWARF_UNIT_READ)
		return 0;
	dwarf_lines_find_line(&d->reader, u, address, &frame);
	innermost = flat_find(&u->innermost, address);
	if (innermost) {
		range = flat_find(&u->functions, address);
		if (!range)
			range = innermost;
		*ret_start = range->start;
		*ret_size = range->end - range->start;
		return dwarf_lines_find_frames(d, u, innermost->value, frame, ret, max);
	}
	if (!frame.line)
		return 0;
	ret[0] = frame;
	*ret_start = address;
	*ret_size = 1;
	return 1;
}
