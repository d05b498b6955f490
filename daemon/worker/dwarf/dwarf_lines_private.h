/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_DWARF_DWARF_LINES_PRIVATE_H
#define PROFD_DAEMON_WORKER_DWARF_DWARF_LINES_PRIVATE_H

/* What the files of dwarf_lines share: units. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/elf_summary.h"
#include "common/symbols/flat_ranges.h"

#define DWARF_NO_SCOPE UINT32_MAX

/* A function that has code, out of line or inlined. */
struct dwarf_scope {
	Dwarf_Die die;
	uint32_t parent; /* what it is inlined in, or DWARF_NO_SCOPE; always before it */
	bool inlined;
	bool named;            /* what follows is filled in: for few functions anybody asks */
	const char *name;      /* NULL: it has none */
	const char *call_file; /* NULL unknown */
	uint32_t start_line, call_line;
};

enum dwarf_unit_state { DWARF_UNIT_NEW, DWARF_UNIT_READ, DWARF_UNIT_REFUSED };

struct dwarf_unit {
	Dwarf_Die die;
	enum dwarf_unit_state state;
	struct dwarf_scope *scopes;
	size_t n_scopes, size;
	struct flat_ranges functions; /* values: scopes that are not inlined */
	struct flat_ranges innermost; /* values: scopes */
	Dwarf_Lines *lines;           /* libdw's; NULL: none */
	Dwarf_Files *files;           /* libdw's; NULL: none */
	const char *dir;              /* where it was compiled; NULL unknown */
	char **paths; /* for each of files; NULL: it needed none, or was not asked */
	size_t n_files;
};

/*
 * What reading DWARF of one image may use, and has used so far: sections, what libdw keeps of a
 * unit, scopes, ranges, line tables. libdw ends the process when it gets no memory, so that this
 * stays below what the worker has. Ranges are counted one by one, because any number of functions
 * can point at the same endless list.
 */
#define DWARF_RANGES_MAX (4u << 20)

struct dwarf_reader {
	struct elf_summary elf;       /* where code can be */
	const Elf_Data *info_data[2]; /* .debug_info, and the alternate file's; NULL: none */
	const Elf_Data *line_data;    /* .debug_line; NULL: none */
	bool is_big;                  /* the file's byte order */
	size_t bytes, max_bytes;
	uint64_t n_ranges;
};

/* Adds the ranges of @die's code with @rank and @value. Returns 0 or -ENOMEM. */
int dwarf_die_ranges(struct dwarf_reader *r, Dwarf_Die *die, uint32_t rank, uint32_t value,
		     struct flat_ranges *ret);
/*
 * Adds one, if code can begin there: the linker leaves ranges of functions that it dropped, at the
 * address 0 or where no code is.
 */
int dwarf_range_add(struct dwarf_reader *r, const struct flat_range *range,
		    struct flat_ranges *ret);

/*
 * Reads the unit's functions, and its lines if they are within bounds. Returns 0 or -ENOMEM; with
 * 0 the unit is READ or, having no sense or being past bounds, REFUSED and empty.
 */
int dwarf_unit_read(struct dwarf_reader *r, struct dwarf_unit *u);
void dwarf_unit_deinit(struct dwarf_unit *u);
/* Fills in what NAMED tells of. */
void dwarf_scope_name(struct dwarf_reader *r, struct dwarf_unit *u, struct dwarf_scope *s);
/* The unit's file of that number, with its directory; NULL: there is none. Lives as long as @u. */
const char *dwarf_unit_file(struct dwarf_reader *r, struct dwarf_unit *u, size_t number);

#endif
