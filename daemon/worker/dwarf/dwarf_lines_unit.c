/* SPDX-License-Identifier: MIT */

/*
 * One compilation unit: its tree of DIEs is walked once, and what is left of it are the functions
 * that have code, each with what it is inlined in. Only what can hold functions is entered: units,
 * namespaces, types, functions and blocks. Types nobody asks about; the walk passes over them.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"
#include "daemon/worker/dwarf/dwarf_lines_private.h"

/* Deeper than compilers nest; in Rust and templates some fifty blocks and inlined functions. */
#define DEPTH_MAX 256
/* From an inlined function over its origin and that one's declaration, it is two. */
#define CHAIN_MAX 16
/* One DIE's attributes: an abbreviation that lists thousands makes each DIE cost as much. */
#define ABBREVIATION_BYTES_MAX 4096
#define ABBREVIATIONS_MAX      65536
/* Each byte of a line program can make a row: what libdw needs for one, and what it then keeps. */
#define LINE_PROGRAM_BYTES_MAX (4u << 20)
#define LINE_ROW_BYTES_MAX     160
#define LINE_ROW_BYTES         48

int dwarf_range_add(struct dwarf_reader *r, const struct flat_range *range, struct flat_ranges *ret)
{
	bool has_text = false, inside = false;

	for (uint32_t i = 0; i < r->elf.n_segments; i++) {
		const struct elf_segment *s = &r->elf.segments[i];

		if (!s->executable)
			continue;
		has_text = true;
		inside |= range->start >= s->vaddr && range->start - s->vaddr < s->memory_size;
	}
	if (range->start == 0 || (has_text && !inside))
		return 0;
	return flat_add(ret, range);
}

int dwarf_die_ranges(struct dwarf_reader *r, Dwarf_Die *die, uint32_t rank, uint32_t value,
		     struct flat_ranges *ret)
{
	struct flat_range range = {.rank = rank, .value = value};
	Dwarf_Addr base = 0, start = 0, end = 0;
	ptrdiff_t at = 0;
	int result = 0;

	while (result == 0 && r->n_ranges < DWARF_RANGES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		r->n_ranges++;
		range.start = start;
		range.end = end;
		result = dwarf_range_add(r, &range, ret);
	}
	return result;
}

/* Adds the function @die, and sets *ret to its number if it has code. */
static int dwarf_unit_add_scope(struct dwarf_reader *r, struct dwarf_unit *u, Dwarf_Die *die,
				uint32_t parent, uint32_t depth, uint32_t *ret)
{
	bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	uint32_t number = (uint32_t)u->n_scopes;
	size_t first = u->innermost.n;
	int result = dwarf_die_ranges(r, die, depth, number, &u->innermost);

	if (result || u->innermost.n == first)
		return result;
	for (size_t i = first; !inlined && i < u->innermost.n; i++) {
		result = flat_add(&u->functions, &u->innermost.items[i]);
		if (result)
			return result;
	}
	*ret = number;
	return room_append(&u->scopes, &u->size, &u->n_scopes,
			   (struct dwarf_scope){.die = *die,
						.parent = inlined ? parent : DWARF_NO_SCOPE,
						.inlined = inlined});
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: /* Rust: their methods */
		return true;
	default:
		return false;
	}
}

/*
 * Where the unit of @die ends, as dwarf_dieoffset() counts: by its header, which may say more than
 * the section has. False: it is no unit of .debug_info.
 */
static bool dwarf_find_unit_end(const struct dwarf_reader *r, Dwarf_Die *die, Dwarf_Off *ret)
{
	Dwarf_Off offset = dwarf_dieoffset(die), end;
	const Elf_Data *data = NULL;
	size_t header;

	for (size_t i = 0; i < ARRAY_SIZE(r->info_data); i++) {
		const Elf_Data *d = r->info_data[i];

		if (d && d->d_buf && offset < d->d_size &&
		    (const char *)d->d_buf + offset == (const char *)die->addr)
			data = d;
	}
	if (!data || dwarf_nextcu(dwarf_cu_getdwarf(die->cu), offset - dwarf_cuoffset(die), &end,
				  &header, NULL, NULL, NULL) != 0)
		return false;
	*ret = end < data->d_size ? end : data->d_size;
	return *ret > offset;
}

/* The way from the unit down to where the walk is. */
struct walk {
	Dwarf_Off end; /* of the unit */
	struct {
		Dwarf_Die die;
		uint32_t scope; /* of what holds the die */
	} levels[DEPTH_MAX];
	uint32_t depth; /* of the last level */
};

/*
 * The DIE behind the list of children that ends at @at, or behind that of their parents if that
 * ends there as well. To ask libdw for the parent's sibling would take it through all children
 * again, and through theirs at each level. False: the walk is over.
 */
static bool die_walk_up(struct walk *w, const unsigned char *at)
{
	Dwarf_Die *die = &w->levels[w->depth].die;
	Dwarf_Off offset = dwarf_dieoffset(die);
	const unsigned char *start = die->addr, *end = start + (w->end - offset);

	offset += (Dwarf_Off)(at - start);
	for (; at < end && *at == '\0'; at++, offset++) {
		if (w->depth == 0)
			return false;
		w->depth--;
	}
	return at < end &&
	       dwarf_offdie(dwarf_cu_getdwarf(die->cu), offset, &w->levels[w->depth].die) != NULL;
}

/* To the next sibling, or that of what holds it, and so on. False: the walk is over. */
static bool die_walk_next(struct walk *w)
{
	Dwarf_Die *die = &w->levels[w->depth].die, next = {0};
	int r = dwarf_siblingof(die, &next);

	if (r == 0)
		*die = next;
	/* Where there is none, libdw leaves at @next.addr what ends the list (dwarf_siblingof.c).
	 */
	return r == 0 || (r == 1 && next.addr && die_walk_up(w, next.addr));
}

static int dwarf_unit_read_functions(struct dwarf_reader *r, struct dwarf_unit *u)
{
	cleanup(freep) struct walk *w = calloc(1, sizeof(*w));
	int result;

	if (!w)
		return error_origin(-ENOMEM);
	w->levels[0].scope = DWARF_NO_SCOPE;
	if (!dwarf_find_unit_end(r, &u->die, &w->end) ||
	    dwarf_child(&u->die, &w->levels[0].die) != 0)
		return 0;
	do {
		Dwarf_Die *die = &w->levels[w->depth].die;
		uint32_t scope = w->levels[w->depth].scope;
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			result = dwarf_unit_add_scope(r, u, die, scope, w->depth, &scope);
			if (result)
				return result;
		}
		if (may_hold_functions(tag) && w->depth + 1 < DEPTH_MAX &&
		    dwarf_child(die, &w->levels[w->depth + 1].die) == 0)
			w->levels[++w->depth].scope = scope;
		else if (!die_walk_next(w))
			break;
	} while (r->bytes + u->n_scopes * sizeof(*u->scopes) < r->max_bytes);
	return 0;
}

/* Whether the unit's abbreviations are of a size that compilers make. */
static bool abbreviations_are_sound(Dwarf_Die *unit)
{
	Dwarf_Off offset = 0;

	for (unsigned i = 0; i < ABBREVIATIONS_MAX; i++) {
		size_t length = 0;
		Dwarf_Abbrev *abbreviation = dwarf_getabbrev(unit, offset, &length);

		if (abbreviation == DWARF_END_ABBREV)
			return true;
		if (!abbreviation || length == 0 || length > ABBREVIATION_BYTES_MAX)
			return false;
		offset += length;
	}
	return false;
}

/* The length of the unit's line program (DWARF 5, 6.2.4: unit_length). False: there is none. */
static bool find_line_program_length(const struct dwarf_reader *r, Dwarf_Die *unit, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	const char *program;
	Dwarf_Word offset;

	if (!r->line_data || !r->line_data->d_buf ||
	    !dwarf_attr(unit, DW_AT_stmt_list, &attribute) ||
	    dwarf_formudata(&attribute, &offset) != 0 || r->line_data->d_size < 12 ||
	    offset > r->line_data->d_size - 12)
		return false;
	program = (const char *)r->line_data->d_buf + offset;
	*ret = bytes_number(program, 4, r->is_big);
	if (*ret == UINT32_MAX)
		*ret = bytes_number(program + 4, 8, r->is_big);
	return true;
}

/* Whether the unit's line program is there and short enough. */
static bool line_program_is_sound(const struct dwarf_reader *r, Dwarf_Die *unit)
{
	uint64_t length;

	return find_line_program_length(r, unit, &length) && length <= LINE_PROGRAM_BYTES_MAX &&
	       r->bytes + length * LINE_ROW_BYTES_MAX <= r->max_bytes;
}

/*
 * A text attribute of @die itself. libdw checks offsets into the sections of texts; that a text
 * within the unit has its NUL there, is checked here.
 */
static const char *die_own_string(const struct dwarf_reader *r, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	ptrdiff_t rest;
	Dwarf_Off end;

	if (!dwarf_attr(die, name, &attribute))
		return NULL;
	if (dwarf_whatform(&attribute) != DW_FORM_string)
		return dwarf_formstring(&attribute);
	if (!dwarf_find_unit_end(r, die, &end))
		return NULL;
	rest = (const unsigned char *)die->addr + (end - dwarf_dieoffset(die)) - attribute.valp;
	if (rest <= 0 || !memchr(attribute.valp, '\0', (size_t)rest))
		return NULL;
	return (const char *)attribute.valp;
}

static void dwarf_unit_read_lines(struct dwarf_reader *r, struct dwarf_unit *u)
{
	size_t n_lines = 0, n_files = 0;

	if (!line_program_is_sound(r, &u->die))
		return;
	if (dwarf_getsrclines(&u->die, &u->lines, &n_lines) != 0)
		u->lines = NULL;
	if (dwarf_getsrcfiles(&u->die, &u->files, &n_files) != 0)
		return;
	r->bytes += n_lines * LINE_ROW_BYTES + n_files * sizeof(*u->paths);
	u->dir = die_own_string(r, &u->die, DW_AT_comp_dir);
	u->paths = calloc(n_files ? n_files : 1, sizeof(*u->paths));
	u->n_files = u->paths ? n_files : 0;
}

/*
 * libdw puts a file's directory before its name, but leaves that directory relative to the unit's
 * where it is. The unit's own is the first of the table's directories, and is joined to itself
 * never.
 */
static char *join_source_path(const char *dir, const char *name)
{
	size_t dir_length = strlen(dir);
	char *path;

	if (dir_length + strlen(name) > PATH_MAX ||
	    (dir[0] != '/' && strncmp(name, dir, dir_length) == 0 && name[dir_length] == '/'))
		return NULL;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

const char *dwarf_unit_file(struct dwarf_reader *r, struct dwarf_unit *u, size_t number)
{
	const char *name;

	if (number >= u->n_files)
		return NULL;
	if (u->paths[number])
		return u->paths[number];
	name = dwarf_filesrc(u->files, number, NULL, NULL);
	/* libdw's word for the file 0, which there is only since DWARF 5. */
	if (!name || strcmp(name, "???") == 0)
		return NULL;
	if (name[0] == '/' || !u->dir || !u->dir[0] || r->bytes >= r->max_bytes)
		return name;
	u->paths[number] = join_source_path(u->dir, name);
	if (!u->paths[number])
		return name;
	r->bytes += strlen(u->paths[number]);
	return u->paths[number];
}

int dwarf_unit_read(struct dwarf_reader *r, struct dwarf_unit *u)
{
	int result;

	u->state = DWARF_UNIT_REFUSED;
	if (r->bytes >= r->max_bytes || !abbreviations_are_sound(&u->die))
		return 0;
	result = dwarf_unit_read_functions(r, u);
	if (result == 0)
		result = flat_build(&u->functions);
	if (result == 0)
		result = flat_build(&u->innermost);
	if (result)
		return result;
	r->bytes += u->size * sizeof(*u->scopes) +
		    (u->functions.size + u->innermost.size) * sizeof(struct flat_range);
	dwarf_unit_read_lines(r, u);
	u->state = DWARF_UNIT_READ;
	return 0;
}

void dwarf_unit_deinit(struct dwarf_unit *u)
{
	for (size_t i = 0; i < u->n_files; i++)
		free(u->paths[i]);
	free(u->paths);
	free(u->scopes);
	flat_deinit(&u->functions);
	flat_deinit(&u->innermost);
}

static uint32_t die_own_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* To what @die repeats or completes. */
static bool die_follow_origin(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	if ((!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
	     !dwarf_attr(die, DW_AT_specification, &attribute)) ||
	    !dwarf_formref_die(&attribute, &next))
		return false;
	*die = next;
	return true;
}

void dwarf_scope_name(struct dwarf_reader *r, struct dwarf_unit *u, struct dwarf_scope *s)
{
	const char *plain = NULL, *linkage = NULL;
	Dwarf_Die die = s->die;

	if (s->named)
		return;
	s->named = true;
	if (s->inlined) {
		s->call_line = die_own_number(&die, DW_AT_call_line);
		s->call_file = dwarf_unit_file(r, u, die_own_number(&die, DW_AT_call_file));
	}
	for (unsigned i = 0; i < CHAIN_MAX && !linkage; i++) {
		linkage = die_own_string(r, &die, DW_AT_linkage_name);
		if (!linkage)
			linkage = die_own_string(r, &die, DW_AT_MIPS_linkage_name);
		if (!plain)
			plain = die_own_string(r, &die, DW_AT_name);
		if (!s->start_line)
			s->start_line = die_own_number(&die, DW_AT_decl_line);
		if (!die_follow_origin(&die))
			break;
	}
	s->name = linkage ? linkage : plain;
}
