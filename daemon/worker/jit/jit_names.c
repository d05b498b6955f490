/* SPDX-License-Identifier: MIT */
/*
 * Code is said to lie where older code was: its memory is freed and used again, in whole or in
 * part. So the ranges of a file overlap, and the newest one that covers an address names it
 * (flat_ranges.h); after that, finding an address is a binary search.
 *
 * Perf maps. Lines are taken one by one, and one that is no line of a perf map is passed over:
 * programs die in the middle of one, several write to one file at a time, and a file that was cut
 * while its writer went on begins with NUL bytes. The last line counts only with its newline:
 * without, more of its name may come.
 *
 * Jitdumps: a header, then records, each with its kind and length. A record that makes no sense is
 * passed over; one without a sensible length, or that is not all there yet, ends the reading. The
 * lines of a piece of code come before it and say for which address they are. They are read when
 * the code is, because only then it is known where they may lie.
 *
 * A move says that code with a known number now lies elsewhere. Loads and moves are read in their
 * order, and what a move is named after is found behind that, by sorting: numbers are the file's
 * choice, and a hash of them could be made slow.
 */
#include "daemon/worker/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "common/digits.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/room.h"
#include "common/symbols/flat_ranges.h"

#define READ_STEP (1u << 20)

/* What is said beyond is left out: it bounds memory where the file's size does not. */
#define JIT_CODES_MAX (4u << 20)

/* The lines of one piece of code: within the lines of all. */
struct jit_lines {
	uint32_t first, n;
};

/* One piece of code, as it was said. */
struct jit_code {
	uint64_t start, end; /* end is not part of it */
	uint32_t name;       /* offset in the text */
	struct jit_lines lines;
};

/* From @offset within the code on, up to the next one's. */
struct jit_line {
	uint32_t offset; /* bytes from the code's start */
	uint32_t line;
	uint32_t file; /* offset in the text */
};

/* Everything that the file says, in its order. */
struct jit_draft {
	struct jit_code *codes;
	size_t n_codes, n_codes_allocated;
	struct jit_line *lines; /* those of one piece of code follow each other */
	size_t n_lines, n_lines_allocated;
	char *text; /* texts, each with its NUL; the first is empty */
	size_t text_length, text_size;
};

struct jit_names {
	struct jit_draft draft;
	struct flat_ranges spans; /* values: codes; those that were said later have higher ranks */
};

/* @text_max: bytes of all texts to come, their NULs included. Returns 0 or -ENOMEM. */
static int jit_draft_init(struct jit_draft *d, size_t text_max)
{
	*d = (struct jit_draft){.text_length = 1, .text_size = text_max + 1};
	d->text = malloc(d->text_size);
	if (!d->text)
		return error_origin(-ENOMEM);
	d->text[0] = '\0';
	return 0;
}

static void jit_draft_deinit(struct jit_draft *d)
{
	free(d->codes);
	free(d->lines);
	free(d->text);
	*d = (struct jit_draft){0};
}

/* Keeps a copy, up to a NUL in it; 0 where there is no room left. */
static uint32_t jit_draft_add_text(struct jit_draft *d, const char *text, size_t length)
{
	uint32_t offset = (uint32_t)d->text_length;

	length = strnlen(text, length);
	if (length == 0 || length >= d->text_size - d->text_length)
		return 0;
	memcpy(d->text + offset, text, length);
	d->text[offset + length] = '\0';
	d->text_length += length + 1;
	return offset;
}

/* Empty and wrapping ranges are left out, as is what no longer fits. Returns 0 or -ENOMEM. */
static int jit_draft_add_code(struct jit_draft *d, const struct jit_code *code)
{
	if (code->start >= code->end || d->n_codes == JIT_CODES_MAX)
		return 0;
	return room_append(&d->codes, &d->n_codes_allocated, &d->n_codes, *code);
}

static int jit_names_make_spans(struct jit_names *j)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < j->draft.n_codes; i++)
		r = flat_add(&j->spans, &(struct flat_range){
						.start = j->draft.codes[i].start,
						.end = j->draft.codes[i].end,
						.rank = i,
						.value = i,
					});
	return r ?: flat_build(&j->spans);
}

/* Gives back what was allocated too much; failing to is no harm. */
static void *jit_names_trim(void *array, size_t n, size_t element)
{
	void *trimmed = realloc(array, n ? n * element : 1);

	return trimmed ? trimmed : array;
}

/* What was said last of an address counts. Takes what @d holds. Returns 0 or -ENOMEM. */
static int jit_names_new(struct jit_names **ret, struct jit_draft *d)
{
	cleanup(jit_names_freep) struct jit_names *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return error_origin(-ENOMEM);
	j->draft = *d;
	*d = (struct jit_draft){0};
	r = jit_names_make_spans(j);
	if (r)
		return r;
	j->spans.items = jit_names_trim(j->spans.items, j->spans.n, sizeof(*j->spans.items));
	j->draft.codes = jit_names_trim(j->draft.codes, j->draft.n_codes, sizeof(*j->draft.codes));
	j->draft.lines = jit_names_trim(j->draft.lines, j->draft.n_lines, sizeof(*j->draft.lines));
	j->draft.text = jit_names_trim(j->draft.text, j->draft.text_length, 1);
	*ret = steal_ptr(&j);
	return 0;
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	jit_draft_deinit(&j->draft);
	flat_deinit(&j->spans);
	free(j);
}

size_t jit_names_bytes(const struct jit_names *j)
{
	return sizeof(*j) + j->spans.n * sizeof(*j->spans.items) +
	       j->draft.n_codes * sizeof(*j->draft.codes) +
	       j->draft.n_lines * sizeof(*j->draft.lines) + j->draft.text_length;
}

size_t jit_names_count(const struct jit_names *j)
{
	return j->spans.n;
}

/* The last line that begins at or before @offset, or NULL. */
static const struct jit_line *jit_names_find_line(const struct jit_draft *d,
						  const struct jit_lines *lines, uint64_t offset)
{
	const struct jit_line *all = d->lines ? d->lines + lines->first : NULL;
	size_t n = partition_point(lines->n, i, all[i].offset <= offset);

	return n ? &all[n - 1] : NULL;
}

bool jit_names_find(const struct jit_names *j, uint64_t address, struct frame_name *ret,
		    uint64_t *ret_start, uint64_t *ret_size)
{
	const struct flat_range *spans = j->spans.items, *span;
	size_t n = partition_point(j->spans.n, i, spans[i].start <= address);
	const struct jit_code *code;
	const struct jit_line *line;
	uint64_t end;

	span = n ? &spans[n - 1] : NULL;
	if (!span || span->end <= address) {
		end = n < j->spans.n ? spans[n].start : UINT64_MAX;
		*ret_start = span ? span->end : 0;
		/* Ends are not part of a range, so that the last address of all is one of its own.
		 */
		if (end <= address)
			*ret_start = end = address;
		*ret_size = end == *ret_start ? 1 : end - *ret_start;
		return false;
	}
	code = &j->draft.codes[span->value];
	line = jit_names_find_line(&j->draft, &code->lines, address - code->start);
	*ret = (struct frame_name){.system_name = j->draft.text + code->name};
	if (line) {
		ret->file = line->file ? j->draft.text + line->file : NULL;
		ret->line = line->line;
	}
	*ret_start = span->start;
	*ret_size = span->end - span->start;
	return true;
}

/* The file may grow or shrink while it is read. */
int jit_names_read(struct jit_names **ret, int fd, bool is_jitdump)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t size = READ_STEP;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	if (st.st_size > 0)
		size = st.st_size < (off_t)JIT_NAMES_BYTES_MAX ? (size_t)st.st_size
							       : JIT_NAMES_BYTES_MAX;
	data = malloc(size);
	if (!data)
		return error_origin(-ENOMEM);
	n = read_range(fd, data, size, 0);
	if (n < 0)
		return WORKER_UNREADABLE;
	return is_jitdump ? jit_names_from_jitdump(ret, data, (size_t)n)
			  : jit_names_from_perf_map(ret, (const char *)data, (size_t)n);
}

/* --- perf maps -------------------------------------------------------------------------------- */

static bool perf_map_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A hexadecimal number, "0x" before it or not, and the blanks behind it. */
static bool perf_map_parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	if (!digits_read(&p, end, 16, ret) || p == end || !perf_map_is_blank(*p))
		return false;
	while (p < end && perf_map_is_blank(*p))
		p++;
	*at = p;
	return true;
}

static bool perf_map_parse_line(const char *at, const char *end, struct jit_code *ret,
				const char **ret_name, size_t *ret_length)
{
	uint64_t start, size;

	while (at < end && perf_map_is_blank(*at))
		at++;
	while (end > at && (end[-1] == '\r' || perf_map_is_blank(end[-1])))
		end--;
	if (!perf_map_parse_number(&at, end, &start) || !perf_map_parse_number(&at, end, &size) ||
	    at == end || *at == '\0' || size > UINT64_MAX - start)
		return false;
	*ret = (struct jit_code){.start = start, .end = start + size};
	*ret_name = at;
	*ret_length = (size_t)(end - at);
	return true;
}

static int perf_map_parse(struct jit_draft *d, const char *text, size_t length, bool *ret_any)
{
	const char *end = text + length, *newline;
	size_t n_lines = 0, n_good = 0;
	int r;

	while (text < end && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		struct jit_code code;
		const char *name;
		size_t name_length;

		n_lines++;
		if (d->n_codes < JIT_CODES_MAX &&
		    perf_map_parse_line(text, newline, &code, &name, &name_length)) {
			n_good++;
			code.name = jit_draft_add_text(d, name, name_length);
			r = jit_draft_add_code(d, &code);
			if (r)
				return r;
		}
		text = newline + 1;
	}
	*ret_any = n_good || !n_lines;
	return 0;
}

int jit_names_from_perf_map(struct jit_names **ret, const char *text, size_t length)
{
	cleanup(jit_draft_deinit) struct jit_draft d = {0};
	bool any;
	int r;

	if (length > JIT_NAMES_BYTES_MAX)
		length = JIT_NAMES_BYTES_MAX;
	/* A name and its NUL are shorter than its line. */
	r = jit_draft_init(&d, length) ?: perf_map_parse(&d, text, length, &any);
	if (r)
		return r;
	return any ? jit_names_new(ret, &d) : WORKER_NOT_ELF;
}

/* --- jitdumps --------------------------------------------------------------------------------- */

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

/* A move has the name of what was said before it under its number; without that, it is nothing. */
static int jitdump_name_moves(struct jitdump *d)
{
	cleanup(freep) struct numbered *order = NULL;
	struct jit_code *codes = d->draft.codes;
	size_t n = d->draft.n_codes;

	order = calloc(n + 1, sizeof(*order));
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
