/* SPDX-License-Identifier: MIT */
/*
 * Reads all sources, and makes one table of their symbols (symtab.h), in which no address is named
 * twice. While that is done the files' tables are in memory as well; then they go.
 *
 * A source that is damaged is left out: it takes nothing from the others.
 */
#include "daemon/worker/names/elf_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/worker/elf/debuglink.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/go/pclntab.h"
#include "daemon/worker/package/htlhash.h"
#include "daemon/worker/package/package_note.h"

/* Of .gnu_debugdata; its symbols are the local functions alone. xz makes a GiB out of nothing. */
#define DEBUGDATA_MAX (128u << 20)

_Static_assert(WORKER_SOURCE_SYMTAB < WORKER_SOURCE_DEBUGDATA &&
		       WORKER_SOURCE_DEBUGDATA < WORKER_SOURCE_DEBUG &&
		       WORKER_SOURCE_DEBUG < WORKER_SOURCE_PCLNTAB &&
		       WORKER_SOURCE_PCLNTAB < WORKER_SOURCE_DYNSYM &&
		       WORKER_SOURCE_DYNSYM < WORKER_SOURCE_PLT &&
		       (int)WORKER_SOURCE_PLT < SYMTAB_SOURCES,
	       "the order of preference is that of the numbers");

/* All that has to stay until the table is made. */
struct elf_names_reading {
	struct elf_image image, debugdata, debug;
	uint8_t *unpacked;
	struct symtab_entries list;
	size_t names_max; /* bounds what the table's names take */
};

static void reading_deinit(struct elf_names_reading *r)
{
	elf_image_deinit(&r->image);
	elf_image_deinit(&r->debugdata);
	elf_image_deinit(&r->debug);
	free(r->unpacked);
	symtab_entries_deinit(&r->list);
}

/* Of most files, the tables that come later have what those before them have. */
static int elf_names_collect(struct elf_names_reading *reading, const struct elf_image *image,
			     struct elf_table *table, uint64_t distance, enum worker_source source)
{
	symtab_entries_sort(&reading->list);
	reading->names_max += elf_table_names_max(table);
	return elf_symbols_collect(image, table, distance, source, &reading->list);
}

/* The functions of @image's .symtab. */
static int collect_symtab(struct elf_names_reading *reading, struct elf_image *image,
			  enum worker_source source, uint64_t distance)
{
	struct elf_table table;

	if (!elf_table_section(image, SHT_SYMTAB, &table))
		return 0;
	return elf_names_collect(reading, image, &table, distance, source);
}

static int collect_debugdata(struct elf_names_reading *reading)
{
	struct elf_image *image = &reading->image;
	Elf_Data *xz = elf_image_data(image, elf_image_find(image, SHT_NULL, ".gnu_debugdata"),
				      ELF_IMAGE_BYTES_MAX);
	size_t length, max;
	int r;

	if (!xz)
		return 0;
	max = image->budget < DEBUGDATA_MAX ? image->budget : DEBUGDATA_MAX;
	r = debugdata_unpack(xz->d_buf, xz->d_size, max, &reading->unpacked, &length);
	if (r)
		return r < 0 ? r : 0;
	image->budget -= length;
	r = elf_image_open_memory(&reading->debugdata, reading->unpacked, length, image->budget);
	if (r)
		return r < 0 ? r : 0;
	return collect_symtab(reading, &reading->debugdata, WORKER_SOURCE_DEBUGDATA, 0);
}

/* --- the separate debug file ------------------------------------------------------------------ */

static bool is_debug_file_of(struct elf_names_reading *reading, const struct elf_names_files *files)
{
	const struct elf_summary *image = &reading->image.summary, *debug = &reading->debug.summary;

	if (image->build_id_length && image->build_id_length == debug->build_id_length &&
	    memcmp(image->build_id, debug->build_id, image->build_id_length) == 0)
		return true;
	return files->check_crc && debuglink_crc_matches(files->image, files->debug);
}

/*
 * How far the image's addresses lie above those of its debug file: 0, unless prelink(8) moved the
 * one and not the other. False if not all of the code moved alike: then the file is of no use.
 */
static bool find_prelink_distance(const struct elf_summary *image, const struct elf_summary *debug,
				  uint64_t *ret)
{
	bool has_distance = false;
	uint64_t distance = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < debug->n_segments; i++) {
		if (!debug->segments[i].executable)
			continue;
		while (at < image->n_segments && !image->segments[at].executable)
			at++;
		if (at == image->n_segments)
			break;
		if (has_distance &&
		    distance != image->segments[at].vaddr - debug->segments[i].vaddr)
			return false;
		distance = image->segments[at++].vaddr - debug->segments[i].vaddr;
		has_distance = true;
	}
	*ret = distance;
	return true;
}

static int collect_debug(struct elf_names_reading *reading, const struct elf_names_files *files)
{
	uint64_t distance;
	int r;

	if (files->debug < 0)
		return 0;
	r = elf_image_open(&reading->debug, files->debug, reading->image.budget);
	if (r)
		return r < 0 ? r : 0;
	if (reading->debug.header.e_machine != reading->image.header.e_machine ||
	    !elf_image_is_linked(&reading->debug) || !is_debug_file_of(reading, files) ||
	    !find_prelink_distance(&reading->image.summary, &reading->debug.summary, &distance))
		return 0;
	return collect_symtab(reading, &reading->debug, WORKER_SOURCE_DEBUG, distance);
}

/* --- the image -------------------------------------------------------------------------------- */

/* .dynsym, and the stubs, which have their names from there. */
static int collect_dynamic(struct elf_names_reading *reading)
{
	struct elf_image *image = &reading->image;
	struct elf_table table;
	bool has_table;
	size_t n;
	int r = 0;

	has_table = image->n_sections ? elf_table_section(image, SHT_DYNSYM, &table)
				      : elf_table_dynamic(image, &table);
	if (has_table)
		r = elf_names_collect(reading, image, &table, 0, WORKER_SOURCE_DYNSYM);
	if (r)
		return r;
	symtab_entries_sort(&reading->list);
	n = reading->list.n;
	if (has_table)
		table.names_left = elf_table_names_max(&table);
	r = plt_collect(image, has_table ? &table : NULL, WORKER_SOURCE_PLT, &reading->list);
	/* The names of resolvers may be of any table, and each may have several stubs. */
	reading->names_max += 2 * reading->names_max + 16 * (reading->list.n - n);
	return r;
}

static int elf_names_read_files(struct elf_names_reading *reading,
				const struct elf_names_files *files)
{
	int r = elf_image_open(&reading->image, files->image, ELF_NAMES_DECOMPRESSED_MAX);

	if (r)
		return r;
	/* In a relocatable file symbols are relative to sections that have no address yet. */
	if (!elf_image_is_linked(&reading->image))
		return WORKER_DONE;
	r = collect_symtab(reading, &reading->image, WORKER_SOURCE_SYMTAB, 0) ?:
	    collect_debugdata(reading) ?:
	    collect_debug(reading, files);
	if (r)
		return r;
	symtab_entries_sort(&reading->list);
	return pclntab_collect(&reading->image, WORKER_SOURCE_PCLNTAB, &reading->list,
			       &reading->names_max)
		       ?: collect_dynamic(reading);
}

int elf_names_new(struct symtab **ret, const struct elf_names_files *files)
{
	cleanup(reading_deinit) struct elf_names_reading reading = {0};

	return elf_names_read_files(&reading, files)
		       ?: symtab_build(ret, &reading.list, reading.names_max);
}

static bool has_section(const struct elf_image *image, uint32_t type, const char *name)
{
	size_t i = elf_image_find(image, type, name);

	return i && image->sections[i].sh_size > 0;
}

/* Where section headers are missing or say nothing, everything here is a no. */
static void look_at_sections(struct elf_image *image, int fd, struct worker_image *ret)
{
	ret->has_symtab = has_section(image, SHT_SYMTAB, NULL);
	ret->has_debugdata = has_section(image, SHT_PROGBITS, ".gnu_debugdata");
	ret->has_lines = has_section(image, SHT_PROGBITS, ".debug_line") ||
			 has_section(image, SHT_PROGBITS, ".zdebug_line");
	(void)debuglink_read(image, ret);
	(void)debugaltlink_read(image, ret);
	go_build_read(image, &ret->go);
	package_notes_read(image, &ret->release);
	(void)htlhash_read(fd, ret->release.htlhash);
}

int elf_inspect(int fd, struct worker_image *ret)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	int r = elf_image_open(&image, fd, ELF_NAMES_DECOMPRESSED_MAX);

	if (r)
		return r < 0 ? WORKER_NO_MEMORY : r;
	memset(ret, 0, sizeof(*ret));
	ret->elf = image.summary;
	look_at_sections(&image, fd, ret);
	return WORKER_DONE;
}
