/* SPDX-License-Identifier: MIT */
/*
 * Reads all sources, makes one list of their symbols, merges it, and keeps a table for each source
 * (12 bytes a symbol and its name), in which no address is named twice. While that is done the
 * files' tables are in memory as well; then they go.
 *
 * A source that is damaged is left out: it takes nothing from the others.
 *
 * Merging is a sweep from low to high addresses. For each source there is a stack of the sized
 * symbols that began, of which the topmost that has not ended is this source's answer: it began
 * last, or, of those that began together, was sorted last. The answer is that of the first source
 * which has one. It holds until it ends or another symbol begins.
 */
#include "daemon/worker/names/elf_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"
#include "daemon/worker/elf/debuglink.h"
#include "daemon/worker/elf/elf_image.h"
#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/go/pclntab.h"

#define N_SOURCES (WORKER_SOURCE_PLT + 1)
/* Of .gnu_debugdata; its symbols are the local functions alone. xz makes a GiB out of nothing. */
#define DEBUGDATA_MAX (128u << 20)

_Static_assert(WORKER_SOURCE_SYMTAB < WORKER_SOURCE_DEBUGDATA &&
		       WORKER_SOURCE_DEBUGDATA < WORKER_SOURCE_DEBUG &&
		       WORKER_SOURCE_DEBUG < WORKER_SOURCE_PCLNTAB &&
		       WORKER_SOURCE_PCLNTAB < WORKER_SOURCE_DYNSYM &&
		       WORKER_SOURCE_DYNSYM < WORKER_SOURCE_PLT &&
		       (int)N_SOURCES <= NAMES_MERGE_SOURCES,
	       "the order of preference is that of the numbers");

struct elf_names {
	struct symtab *tables[N_SOURCES]; /* NULL: no names of that source */
};

/* All that has to stay until the tables are made. */
struct elf_names_reading {
	struct elf_summary summary;
	struct elf_image image, debugdata, debug;
	uint8_t *unpacked;
	struct symtab_entries list;
	struct symtab_entries pieces[NAMES_MERGE_SOURCES];
	size_t names_max[N_SOURCES]; /* bounds what each table's names take */
};

static void reading_deinit(struct elf_names_reading *r)
{
	elf_image_deinit(&r->image);
	elf_image_deinit(&r->debugdata);
	elf_image_deinit(&r->debug);
	free(r->unpacked);
	symtab_entries_deinit(&r->list);
	for (unsigned i = 0; i < NAMES_MERGE_SOURCES; i++)
		symtab_entries_deinit(&r->pieces[i]);
}

static int elf_names_collect(struct elf_names_reading *reading, const struct elf_image *image,
			     const struct elf_symbols_from *from)
{
	reading->names_max[from->source] = elf_table_names_max(from->table);
	return elf_symbols_collect(image, from, &reading->list);
}

/* The functions of @image's .symtab. */
static int collect_symtab(struct elf_names_reading *reading, struct elf_image *image,
			  enum worker_source source, uint64_t distance)
{
	struct elf_table table;

	if (elf_table_section(image, SHT_SYMTAB, &table) != ELF_TABLE_E_OK)
		return 0;
	return elf_names_collect(reading, image,
				 &(struct elf_symbols_from){
					 .table = &table, .distance = distance, .source = source});
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

/* By the segments as a rule; sections are for files that have none. */
static uint32_t debug_file_build_id(struct elf_image *image, int fd, uint8_t ret[ELF_BUILD_ID_MAX])
{
	struct elf_summary summary;

	if (elf_summary_read(fd, &summary) != WORKER_DONE || !summary.build_id_length)
		return elf_image_build_id(image, ret);
	memcpy(ret, summary.build_id, sizeof(summary.build_id));
	return summary.build_id_length;
}

static bool is_debug_file_of(struct elf_names_reading *reading, const struct elf_names_files *files)
{
	const struct elf_summary *summary = &reading->summary;
	uint8_t id[ELF_BUILD_ID_MAX];
	struct debuglink link;
	uint32_t length, crc;

	length = debug_file_build_id(&reading->debug, files->debug, id);
	if (length && length == summary->build_id_length &&
	    memcmp(id, summary->build_id, length) == 0)
		return true;
	return files->check_crc && debuglink_read(&reading->image, &link) &&
	       debuglink_crc(files->debug, &crc) && crc == link.crc;
}

/*
 * How far the image's addresses lie above those of its debug file: 0, unless prelink(8) moved the
 * one and not the other. False if not all of the code moved alike: then the file is of no use.
 */
static bool find_prelink_distance(const struct elf_summary *summary, const struct elf_image *debug,
				  uint64_t *ret)
{
	bool has_distance = false;
	uint64_t distance = 0;
	uint32_t at = 0;
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(debug->elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(debug->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X))
			continue;
		while (at < summary->n_segments && !summary->segments[at].executable)
			at++;
		if (at == summary->n_segments)
			break;
		if (has_distance && distance != summary->segments[at].vaddr - ph.p_vaddr)
			return false;
		distance = summary->segments[at++].vaddr - ph.p_vaddr;
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
	    !find_prelink_distance(&reading->summary, &reading->debug, &distance))
		return 0;
	return collect_symtab(reading, &reading->debug, WORKER_SOURCE_DEBUG, distance);
}

/* --- the image -------------------------------------------------------------------------------- */

/* .dynsym, and the stubs, which have their names from there. */
static int collect_dynamic(struct elf_names_reading *reading)
{
	struct elf_image *image = &reading->image;
	struct elf_symbols_from from = {.source = WORKER_SOURCE_DYNSYM};
	struct elf_table table;
	size_t n, names_max = 0;
	bool has_table;
	int r = 0;

	has_table = elf_table_section(image, SHT_DYNSYM, &table) == ELF_TABLE_E_OK;
	if (!has_table) {
		has_table = elf_table_dynamic(image, &table) == ELF_TABLE_E_OK;
		from.segments = &reading->summary;
	}
	from.table = &table;
	if (has_table)
		r = elf_names_collect(reading, image, &from);
	if (r)
		return r;
	symtab_entries_sort(&reading->list);
	n = reading->list.n;
	if (has_table)
		table.names_left = elf_table_names_max(&table);
	r = plt_collect(image, has_table ? &table : NULL, WORKER_SOURCE_PLT, &reading->list);
	/* The names of resolvers may be of any table, and each may have several stubs. */
	for (unsigned i = 0; i < WORKER_SOURCE_PLT; i++)
		if (names_max < reading->names_max[i])
			names_max = reading->names_max[i];
	reading->names_max[WORKER_SOURCE_PLT] = 2 * names_max + 16 * (reading->list.n - n);
	return r;
}

static int elf_names_read_files(struct elf_names_reading *reading,
				const struct elf_names_files *files)
{
	int r = elf_image_open(&reading->image, files->image, ELF_NAMES_DECOMPRESSED_MAX);

	if (r)
		return r < 0 ? r : WORKER_MALFORMED;
	/* In a relocatable file symbols are relative to sections that have no address yet. */
	if (!elf_image_is_linked(&reading->image))
		return WORKER_DONE;
	return collect_symtab(reading, &reading->image, WORKER_SOURCE_SYMTAB, 0) ?:
	       collect_debugdata(reading) ?:
	       collect_debug(reading, files) ?:
	       pclntab_collect(&reading->image, WORKER_SOURCE_PCLNTAB, &reading->list,
			       &reading->names_max[WORKER_SOURCE_PCLNTAB]) ?:
	       collect_dynamic(reading);
}

int elf_names_new(struct elf_names **ret, const struct elf_names_files *files)
{
	cleanup(reading_deinit) struct elf_names_reading reading = {0};
	cleanup(elf_names_freep) struct elf_names *names = NULL;
	int r = elf_summary_read(files->image, &reading.summary);

	if (r)
		return r;
	names = calloc(1, sizeof(*names));
	if (!names)
		return error_origin(-ENOMEM);
	r = elf_names_read_files(&reading, files) ?: names_merge(&reading.list, reading.pieces);
	if (r)
		return r;
	symtab_entries_deinit(&reading.list);
	for (unsigned i = 0; i < N_SOURCES; i++) {
		r = symtab_build(&names->tables[i], &reading.pieces[i], false,
				 reading.names_max[i]);
		if (r < 0)
			return r;
		symtab_entries_deinit(&reading.pieces[i]);
	}
	*ret = steal_ptr(&names);
	return WORKER_DONE;
}

void elf_names_free(struct elf_names *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < N_SOURCES; i++)
		symtab_free(n->tables[i]);
	free(n);
}

size_t elf_names_bytes(const struct elf_names *n)
{
	size_t bytes = sizeof(*n);

	for (unsigned i = 0; i < N_SOURCES; i++)
		if (n->tables[i])
			bytes += symtab_bytes(n->tables[i]);
	return bytes;
}

bool elf_names_find(const struct elf_names *n, uint64_t address, struct elf_name *ret)
{
	uint64_t start = 0, end = UINT64_MAX;

	for (unsigned i = 0; i < N_SOURCES; i++) {
		struct symtab_symbol symbol;
		uint64_t gap_start, gap_end;

		if (!n->tables[i])
			continue;
		if (symtab_find(n->tables[i], address, &symbol)) {
			*ret = (struct elf_name){symbol.name, symbol.start, symbol.size,
						 (enum worker_source)i};
			return true;
		}
		symtab_gap(n->tables[i], address, &gap_start, &gap_end);
		start = gap_start > start ? gap_start : start;
		end = gap_end < end ? gap_end : end;
	}
	/* The last address of all lies in no range that has an end. */
	if (address == UINT64_MAX)
		start = address;
	*ret = (struct elf_name){
		.start = start,
		.size = address == UINT64_MAX ? 1 : end - start,
		.source = WORKER_SOURCE_NONE,
	};
	return false;
}

static bool has_section(const struct elf_image *image, uint32_t type, const char *name)
{
	size_t i = elf_image_find(image, type, name);

	return i && image->sections[i].size > 0;
}

/* Where section headers are missing or say nothing, everything here is a no. */
static void look_at_sections(struct elf_image *image, struct worker_image *ret)
{
	struct debugaltlink alternate;
	struct debuglink link;
	struct elf_table table;

	ret->has_symtab = has_section(image, SHT_SYMTAB, NULL);
	ret->has_dynsym = has_section(image, SHT_DYNSYM, NULL) ||
			  elf_table_dynamic(image, &table) == ELF_TABLE_E_OK;
	ret->has_debugdata = has_section(image, SHT_PROGBITS, ".gnu_debugdata");
	ret->has_lines = has_section(image, SHT_PROGBITS, ".debug_line") ||
			 has_section(image, SHT_PROGBITS, ".zdebug_line");
	if (debuglink_read(image, &link)) {
		memcpy(ret->debuglink, link.name, sizeof(ret->debuglink));
		ret->debuglink_crc = link.crc;
	}
	if (debugaltlink_read(image, &alternate)) {
		memcpy(ret->alternate, alternate.path, sizeof(ret->alternate));
		memcpy(ret->alternate_id, alternate.id, sizeof(ret->alternate_id));
		ret->alternate_id_length = alternate.id_length;
	}
	if (!ret->elf.build_id_length)
		ret->elf.build_id_length = elf_image_build_id(image, ret->elf.build_id);
	go_build_read(image, &ret->go);
}

int elf_inspect(int fd, struct worker_image *ret)
{
	cleanup(elf_image_deinit) struct elf_image image = {0};
	struct worker_image inspected;
	int r;

	memset(&inspected, 0, sizeof(inspected));
	r = elf_summary_read(fd, &inspected.elf);
	if (r)
		return r;
	r = elf_image_open(&image, fd, ELF_NAMES_DECOMPRESSED_MAX);
	if (r < 0)
		return WORKER_NO_MEMORY;
	/* Programs run whatever is wrong with their sections. */
	if (r == ELF_IMAGE_E_OK)
		look_at_sections(&image, &inspected);
	*ret = inspected;
	return WORKER_DONE;
}

struct stack {
	uint32_t *items; /* indices of entries */
	size_t n, n_allocated;
};

struct sweep {
	const struct symtab_entry *entries;
	size_t n;
	uint64_t cursor; /* all before has its answer */
	struct stack open[NAMES_MERGE_SOURCES];
	size_t last[NAMES_MERGE_SOURCES]; /* whose piece each source got last */
	struct symtab_entries *ret;
};

static void names_merge_sweep_deinit(struct sweep *s)
{
	for (unsigned i = 0; i < NAMES_MERGE_SOURCES; i++)
		free(s->open[i].items);
}

/* The answer at the cursor; false: no sized symbol covers it. */
static bool names_merge_find_top(struct sweep *s, size_t *ret)
{
	for (unsigned i = 0; i < NAMES_MERGE_SOURCES; i++) {
		struct stack *open = &s->open[i];

		while (open->n > 0 &&
		       symtab_entry_end(&s->entries[open->items[open->n - 1]]) <= s->cursor)
			open->n--;
		if (open->n > 0) {
			*ret = open->items[open->n - 1];
			return true;
		}
	}
	return false;
}

static int names_merge_emit(struct sweep *s, size_t entry, uint64_t start, uint64_t end)
{
	struct symtab_entry piece = s->entries[entry];
	struct symtab_entries *list = &s->ret[piece.source];

	if (list->n > 0 && s->last[piece.source] == entry &&
	    symtab_entry_end(&list->entries[list->n - 1]) == start) {
		list->entries[list->n - 1].size += end - start;
		return 0;
	}
	s->last[piece.source] = entry;
	piece.start = start;
	piece.size = end - start;
	return symtab_entries_add(list, &piece);
}

/* Moves the cursor to @to, before which nothing more begins. */
static int names_merge_advance(struct sweep *s, uint64_t to)
{
	size_t top;

	while (s->cursor < to && names_merge_find_top(s, &top)) {
		uint64_t end = symtab_entry_end(&s->entries[top]);
		int r;

		if (end > to)
			end = to;
		r = names_merge_emit(s, top, s->cursor, end);
		if (r)
			return r;
		s->cursor = end;
	}
	s->cursor = to;
	return 0;
}

/* What begins at the cursor: entries from @from to before @to. */
static int names_merge_open_entries(struct sweep *s, size_t from, size_t to)
{
	size_t best = to, top;
	uint64_t end;

	for (size_t i = from; i < to; i++) {
		const struct symtab_entry *e = &s->entries[i];
		struct stack *open = &s->open[e->source];

		if (!e->name)
			continue;
		if (e->size) {
			if (room_append(&open->items, &open->n_allocated, &open->n, (uint32_t)i))
				return -ENOMEM;
		} else if (best == to || e->source <= s->entries[best].source) {
			best = i;
		}
	}
	if (best == to || names_merge_find_top(s, &top))
		return 0;
	end = s->entries[best].limit;
	if (to < s->n && s->entries[to].start < end)
		end = s->entries[to].start;
	return end > s->cursor ? names_merge_emit(s, best, s->cursor, end) : 0;
}

int names_merge(struct symtab_entries *list, struct symtab_entries ret[NAMES_MERGE_SOURCES])
{
	cleanup(names_merge_sweep_deinit) struct sweep s = {.ret = ret};

	symtab_entries_sort(list);
	s.entries = list->entries;
	s.n = list->n;
	for (size_t i = 0, next; i < s.n; i = next) {
		int r = names_merge_advance(&s, s.entries[i].start);

		if (r)
			return r;
		for (next = i + 1; next < s.n && s.entries[next].start == s.entries[i].start;)
			next++;
		r = names_merge_open_entries(&s, i, next);
		if (r)
			return r;
	}
	return names_merge_advance(&s, UINT64_MAX);
}
