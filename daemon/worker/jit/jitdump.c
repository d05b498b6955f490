/* SPDX-License-Identifier: MIT */

/*
 * A header, then records, each with its kind and length. A record that makes no sense is passed
 * over; one without a sensible length, or that is not all there yet, ends the reading.
 *
 * The lines of a piece of code come before it and say for which address they are. They are read
 * when the code is, because only then it is known where they may lie.
 *
 * A move says that code with a known number now lies elsewhere. Loads and moves are read in their
 * order, and what a move is named after is found behind that, by sorting: numbers are the file's
 * choice, and a hash of them could be made slow.
 */
#include "daemon/worker/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "daemon/worker/jit/jit_names_private.h"

/* jitdump-specification.txt; lengths in bytes. */
#define MAGIC               0x4a695444u
#define VERSION             1
#define FILE_HEADER         40
#define RECORD_HEADER       16
#define LOAD_HEADER         (RECORD_HEADER + 40)
#define MOVE_LENGTH         (RECORD_HEADER + 48)
#define DEBUG_HEADER        (RECORD_HEADER + 16)
#define DEBUG_ENTRY_MIN     17
#define SAME_FILE           "\xff"
#define PENDING_DEBUG_INFOS 16

enum record {
	RECORD_LOAD,
	RECORD_MOVE,
	RECORD_DEBUG_INFO,
	RECORD_CLOSE,
	/* Others: unwinding information, and what is invented later. */
};

/*
 * V8 (src/diagnostics/perf-jit.cc) adds the length of an ELF header to the addresses of its lines,
 * for the sake of an old error of perf's.
 */
#define BIAS 64u

/* Lines that were said, whose code has not come yet. */
struct debug_info {
	uint64_t address;
	size_t offset, end; /* of its entries */
	uint64_t n;         /* as it says; 0: this slot is free */
};

/* What is not in struct jit_code, by its place there. */
struct origin {
	uint64_t index; /* code_index */
	bool is_move;
};

struct jitdump {
	const uint8_t *data;
	size_t length;
	bool is_big;
	struct jit_draft draft;
	struct origin *origins;
	size_t n_origins_allocated;
	struct debug_info pending[PENDING_DEBUG_INFOS];
	unsigned next_pending;
	uint32_t first_offset; /* the smallest of all lines */
};

static void jitdump_deinit(struct jitdump *d)
{
	jit_draft_deinit(&d->draft);
	free(d->origins);
}

static uint32_t jitdump_u32(const struct jitdump *d, size_t offset)
{
	return (uint32_t)bytes_number(d->data + offset, 4, d->is_big);
}

static uint64_t jitdump_u64(const struct jitdump *d, size_t offset)
{
	return bytes_number(d->data + offset, 8, d->is_big);
}

static int jitdump_add_code(struct jitdump *d, const struct jit_code *code,
			    const struct origin *origin)
{
	size_t n = d->draft.n_codes;
	int r = jit_draft_add_code(&d->draft, code);

	if (r || d->draft.n_codes == n)
		return r;
	if (room_make(&d->origins, &d->n_origins_allocated, n + 1, sizeof(*d->origins)))
		return -ENOMEM;
	d->origins[n] = *origin;
	return 0;
}

static int jitdump_line_compare(const void *a, const void *b)
{
	const struct jit_line *x = a, *y = b;

	return order_of(x->offset, y->offset) ?:
	       order_of(x->line, y->line) ?:
	       order_of(x->file, y->file);
}

static bool jitdump_lines_are_sorted(const struct jit_line *lines, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (lines[i].offset < lines[i - 1].offset)
			return false;
	return true;
}

/* A file's name at @at; the one before it again, in the text once, if it is the same. */
static uint32_t jitdump_intern_file(struct jitdump *d, const char *name, size_t length,
				    uint32_t before)
{
	if (strcmp(name, SAME_FILE) == 0)
		return before;
	if (before && strcmp(d->draft.text + before, name) == 0)
		return before;
	return jit_draft_add_text(&d->draft, name, length);
}

/*
 * The lines of the code at @start. One that lies outside of it says that all of them are nonsense:
 * some versions of V8 write names with NUL bytes in them, and what follows is out of step.
 */
static int jitdump_read_lines(struct jitdump *d, const struct debug_info *info, uint64_t start,
			      uint64_t size, struct jit_lines *ret)
{
	size_t at = info->offset, first = d->draft.n_lines, text = d->draft.text_length, n;
	uint32_t file = 0, first_offset = d->first_offset;

	for (uint64_t i = 0; i < info->n; i++) {
		const char *name = (const char *)d->data + at + DEBUG_ENTRY_MIN - 1;
		uint64_t address;
		size_t length;

		if (info->end - at < DEBUG_ENTRY_MIN)
			goto nonsense;
		address = jitdump_u64(d, at);
		length = strnlen(name, info->end - at - (DEBUG_ENTRY_MIN - 1));
		if (length == info->end - at - (DEBUG_ENTRY_MIN - 1) || address < start ||
		    address - start > size + BIAS || address - start > UINT32_MAX)
			goto nonsense;
		file = jitdump_intern_file(d, name, length, file);
		if (room_append(&d->draft.lines, &d->draft.n_lines_allocated, &d->draft.n_lines,
				(struct jit_line){.offset = (uint32_t)(address - start),
						  .line = jitdump_u32(d, at + 8),
						  .file = file}))
			return -ENOMEM;
		if (address - start < first_offset)
			first_offset = (uint32_t)(address - start);
		at += DEBUG_ENTRY_MIN + length;
	}
	n = d->draft.n_lines - first;
	if (n && !jitdump_lines_are_sorted(d->draft.lines + first, n))
		qsort(d->draft.lines + first, n, sizeof(*d->draft.lines), jitdump_line_compare);
	d->first_offset = first_offset;
	*ret = (struct jit_lines){(uint32_t)first, (uint32_t)n};
	return 0;

nonsense:
	d->draft.n_lines = first;
	d->draft.text_length = text;
	*ret = (struct jit_lines){0};
	return 0;
}

static int jitdump_claim_lines(struct jitdump *d, uint64_t start, uint64_t size,
			       struct jit_lines *ret)
{
	for (unsigned i = 1; i <= PENDING_DEBUG_INFOS; i++) {
		/* The newest first. */
		struct debug_info *info = &d->pending[(d->next_pending - i) % PENDING_DEBUG_INFOS];
		struct debug_info found = *info;

		if (!info->n || info->address != start)
			continue;
		info->n = 0;
		return jitdump_read_lines(d, &found, start, size, ret);
	}
	return 0;
}

static int jitdump_read_load(struct jitdump *d, size_t at, size_t length)
{
	struct jit_code code = {0};
	struct origin origin = {0};
	uint64_t size;
	const char *name;
	size_t name_length;
	int r;

	if (length <= LOAD_HEADER || d->draft.n_codes == JIT_CODES_MAX)
		return 0;
	code.start = jitdump_u64(d, at + 32);
	size = jitdump_u64(d, at + 40);
	origin.index = jitdump_u64(d, at + 48);
	name = (const char *)d->data + at + LOAD_HEADER;
	name_length = strnlen(name, length - LOAD_HEADER);
	if (size > UINT64_MAX - code.start || name_length == 0 ||
	    name_length == length - LOAD_HEADER)
		return 0;
	code.end = code.start + size;
	r = jitdump_claim_lines(d, code.start, size, &code.lines);
	if (r)
		return r;
	code.name = jit_draft_add_text(&d->draft, name, name_length);
	return jitdump_add_code(d, &code, &origin);
}

static int jitdump_read_move(struct jitdump *d, size_t at, size_t length)
{
	uint64_t start, size;

	if (length < MOVE_LENGTH)
		return 0;
	start = jitdump_u64(d, at + 40);
	size = jitdump_u64(d, at + 48);
	if (size > UINT64_MAX - start)
		return 0;
	return jitdump_add_code(d, &(struct jit_code){.start = start, .end = start + size},
				&(struct origin){.index = jitdump_u64(d, at + 56),
						 .is_move = true});
}

static void jitdump_read_debug_info(struct jitdump *d, size_t at, size_t length)
{
	if (length < DEBUG_HEADER)
		return;
	d->pending[d->next_pending++ % PENDING_DEBUG_INFOS] = (struct debug_info){
		.address = jitdump_u64(d, at + 16),
		.n = jitdump_u64(d, at + 24),
		.offset = at + DEBUG_HEADER,
		.end = at + length,
	};
}

static int jitdump_read_records(struct jitdump *d, size_t at)
{
	int r = 0;

	while (!r && d->length - at >= RECORD_HEADER) {
		uint32_t kind = jitdump_u32(d, at);
		size_t length = jitdump_u32(d, at + 4);

		if (length < RECORD_HEADER || length > d->length - at || kind == RECORD_CLOSE)
			return 0;
		if (kind == RECORD_LOAD)
			r = jitdump_read_load(d, at, length);
		else if (kind == RECORD_MOVE)
			r = jitdump_read_move(d, at, length);
		else if (kind == RECORD_DEBUG_INFO)
			jitdump_read_debug_info(d, at, length);
		at += length;
	}
	return r;
}

struct numbered {
	uint64_t index;
	uint32_t code;
};

static int jitdump_index_compare(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return order_of(x->index, y->index) ?: order_of(x->code, y->code);
}

static bool jitdump_has_moves(const struct jitdump *d)
{
	for (size_t i = 0; i < d->draft.n_codes; i++)
		if (d->origins[i].is_move)
			return true;
	return false;
}

/* A move has the name of what was said before it under its number; without that, it is nothing. */
static int jitdump_name_moves(struct jitdump *d)
{
	cleanup(freep) struct numbered *order = NULL;
	struct jit_code *codes = d->draft.codes;
	size_t n = d->draft.n_codes;

	if (!jitdump_has_moves(d))
		return 0;
	order = malloc(n * sizeof(*order));
	if (!order)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct numbered){d->origins[i].index, (uint32_t)i};
	qsort(order, n, sizeof(*order), jitdump_index_compare);
	for (size_t i = 1; i < n; i++)
		if (d->origins[order[i].code].is_move && order[i].index == order[i - 1].index) {
			codes[order[i].code].name = codes[order[i - 1].code].name;
			codes[order[i].code].lines = codes[order[i - 1].code].lines;
		}
	d->draft.n_codes = 0;
	for (size_t i = 0; i < n; i++)
		if (codes[i].name)
			codes[d->draft.n_codes++] = codes[i];
	return 0;
}

/* Whole files are biased, or not: those that are have lines at the very start of some code. */
static void jitdump_remove_bias(struct jitdump *d)
{
	if (d->first_offset != BIAS)
		return;
	for (size_t i = 0; i < d->draft.n_lines; i++)
		d->draft.lines[i].offset -= BIAS;
}

/* Returns enum worker_outcome; *ret_at is where records begin. */
static int jitdump_read_header(struct jitdump *d, size_t *ret_at)
{
	uint32_t length;

	if (d->length >= sizeof(uint32_t)) {
		d->is_big = bytes_number(d->data, 4, true) == MAGIC;
		if (jitdump_u32(d, 0) != MAGIC)
			return WORKER_NOT_ELF;
	}
	*ret_at = d->length;
	if (d->length < FILE_HEADER)
		return WORKER_DONE;
	/* The machine is told, too, but names are names on any. */
	length = jitdump_u32(d, 8);
	if (jitdump_u32(d, 4) != VERSION || length < FILE_HEADER)
		return WORKER_MALFORMED;
	if (length < d->length)
		*ret_at = length;
	return WORKER_DONE;
}

int jit_names_from_jitdump(struct jit_names **ret, const uint8_t *data, size_t length)
{
	cleanup(jitdump_deinit) struct jitdump d = {.data = data, .first_offset = UINT32_MAX};
	size_t at;
	int r;

	d.length = length < JIT_NAMES_BYTES_MAX ? length : JIT_NAMES_BYTES_MAX;
	r = jitdump_read_header(&d, &at);
	if (r)
		return r;
	/* No text is kept twice, but for files: those of a record's lines, which are read once. */
	r = jit_draft_init(&d.draft, d.length) ?:
	    jitdump_read_records(&d, at) ?:
	    jitdump_name_moves(&d);
	if (r)
		return r;
	jitdump_remove_bias(&d);
	return jit_names_new(ret, &d.draft);
}
