/* SPDX-License-Identifier: MIT */
/*
 * A jitdump is a header, then records, each with its kind and length. A record that makes no sense
 * is passed over; one without a sensible length, or that is not all there yet, ends the reading.
 *
 * The lines of a piece of code come before it and say for which address they are. Whether they make
 * sense is looked at when the code comes, because only then it is known where they may lie. What
 * they say is read in the end, each record's once, for those addresses whose newest code has some.
 *
 * A move says that code with a known number now lies elsewhere. It has the name of what was loaded
 * last before it under its number. Where moves are the newest that is known of some address, the
 * file is read a second time, for the loads with their numbers. Below a move whose load is not
 * there, no older code is looked for: something else lies there now.
 */
#include "daemon/worker/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/worker/protocol.h"

/* jitdump-specification.txt; lengths in bytes. */
#define MAGIC               0x4a695444u
#define VERSION             1
#define FILE_HEADER         40
#define RECORD_HEADER       16
#define LOAD_HEADER         (RECORD_HEADER + 40)
#define MOVE_LENGTH         (RECORD_HEADER + 48)
#define DEBUG_HEADER        (RECORD_HEADER + 16)
#define DEBUG_ENTRY         16 /* and the file's name, with its NUL */
#define SAME_FILE           0xff
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
 * for the sake of an old error of perf's. Whole files are biased, or not: those that are have lines
 * at the very start of some code.
 */
#define BIAS 64u

/* A place whose newest code is a move. Sorted by number, then by where the move is. */
struct moved {
	struct jit_place *place;
	struct jit_code load; /* of the first with a number: the newest so far */
};

/* An address whose code has lines. Sorted by where those are, then by offset. */
struct wanted {
	struct jit_lines lines;
	uint64_t offset; /* in the code, bytes */
	size_t i;        /* which address */
	uint64_t found;  /* the largest offset of a line so far; UINT64_MAX: none */
};

struct jitdump {
	struct jit_input *in;
	struct jit_places *places;
	bool is_big;
	struct jit_lines pending[PENDING_DEBUG_INFOS]; /* whose code has not come yet */
	unsigned next_pending;
	uint64_t first_offset; /* the smallest of all lines */
	struct moved *moves;   /* the second time: what is looked for; NULL: the first */
	size_t n_moves;
};

static uint32_t jitdump_u32(const struct jitdump *d, const uint8_t *at)
{
	return (uint32_t)bytes_number(at, 4, d->is_big);
}

static uint64_t jitdump_u64(const struct jitdump *d, const uint8_t *at)
{
	return bytes_number(at, 8, d->is_big);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* An entry of debug information: from an address on, up to the next one's. */
struct entry {
	uint64_t address;
	struct jit_line line;
};

/* The entry at *@at, with the file of the one before it, which @ret has, if it says so. */
static bool jitdump_next_entry(const struct jitdump *d, uint64_t *at, uint64_t end,
			       struct entry *ret)
{
	uint64_t name = *at + DEBUG_ENTRY, name_end;
	const uint8_t *bytes;
	bool is_same;
	size_t n;

	if (end - *at <= DEBUG_ENTRY)
		return false;
	bytes = jit_input_at(d->in, *at, DEBUG_ENTRY + 1, &n);
	if (n <= DEBUG_ENTRY)
		return false;
	ret->address = jitdump_u64(d, bytes);
	ret->line.line = jitdump_u32(d, bytes + 8);
	is_same = bytes[DEBUG_ENTRY] == SAME_FILE;
	name_end = jit_input_find(d->in, name, end, '\0');
	if (name_end == end)
		return false;
	if (!is_same || name_end - name != 1)
		ret->line.file = (struct jit_bytes){(uint32_t)name, (uint32_t)(name_end - name)};
	*at = name_end + 1;
	return true;
}

/*
 * Whether the lines of the code from @start on may be so. One that lies outside of it says that all
 * of them are nonsense: some versions of V8 write names with NUL bytes in them, and what follows is
 * out of step.
 */
static bool jitdump_check_lines(struct jitdump *d, const struct jit_lines *lines, uint64_t size)
{
	uint64_t at = lines->bytes.at, end = at + lines->bytes.length, offset;
	uint64_t first_offset = d->first_offset;
	struct entry entry = {0};

	for (uint32_t i = 0; i < lines->n; i++) {
		if (!jitdump_next_entry(d, &at, end, &entry))
			return false;
		offset = entry.address - lines->address;
		if (entry.address < lines->address || offset > size + BIAS || offset > UINT32_MAX)
			return false;
		first_offset = offset < first_offset ? offset : first_offset;
	}
	d->first_offset = first_offset;
	return true;
}

static struct jit_lines jitdump_claim_lines(struct jitdump *d, uint64_t start, uint64_t size)
{
	for (unsigned i = 1; i <= PENDING_DEBUG_INFOS; i++) {
		/* The newest first. */
		struct jit_lines *lines = &d->pending[(d->next_pending - i) % PENDING_DEBUG_INFOS];
		struct jit_lines found = *lines;

		if (!lines->n || lines->address != start)
			continue;
		lines->n = 0;
		return jitdump_check_lines(d, &found, size) ? found : (struct jit_lines){0};
	}
	return (struct jit_lines){0};
}

DEFINE_ORDER(jitdump_wanted_compare, struct wanted,
	     order_of(x->lines.bytes.at, y->lines.bytes.at) ?: order_of(x->offset, y->offset))

/*
 * The lines of one piece of code, for the @n offsets in it. Each line is noted for the first offset
 * that it does not lie behind, if it is the nearest; what has none then has that of the one before.
 */
static void jitdump_read_lines(const struct jitdump *d, struct wanted *wanted, size_t n,
			       struct jit_line *lines)
{
	uint64_t bias = d->first_offset == BIAS ? BIAS : 0, offset;
	uint64_t at = wanted->lines.bytes.at, end = at + wanted->lines.bytes.length;
	struct entry entry = {0};

	for (uint32_t i = 0; i < wanted->lines.n && jitdump_next_entry(d, &at, end, &entry); i++) {
		size_t w;

		offset = entry.address - wanted->lines.address - bias;
		w = partition_point(n, k, wanted[k].offset < offset);
		if (w == n || (wanted[w].found != UINT64_MAX && offset < wanted[w].found))
			continue;
		wanted[w].found = offset;
		lines[wanted[w].i] = entry.line;
	}
	for (size_t w = 1; w < n; w++)
		if (wanted[w].found == UINT64_MAX)
			lines[wanted[w].i] = lines[wanted[w - 1].i];
}

/* Returns 0 or -ENOMEM. */
static int jitdump_find_lines(const struct jitdump *d, struct jit_line *lines)
{
	const struct jit_places *places = d->places;
	cleanup(freep) struct wanted *wanted = calloc(places->n + 1, sizeof(*wanted));
	size_t n = 0, n_same;

	if (!wanted)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < places->n; i++) {
		const struct jit_code *code = &jit_places_get(places, i)->code;

		if (code->lines.n)
			wanted[n++] = (struct wanted){code->lines,
						      places->addresses[i] - code->start, i,
						      UINT64_MAX};
	}
	qsort(wanted, n, sizeof(*wanted), jitdump_wanted_compare);
	for (size_t i = 0; i < n; i += n_same) {
		for (n_same = 1; i + n_same < n; n_same++)
			if (wanted[i + n_same].lines.bytes.at != wanted[i].lines.bytes.at)
				break;
		jitdump_read_lines(d, wanted + i, n_same, lines);
	}
	return 0;
}

/* --- moves ------------------------------------------------------------------------------------ */

static int jitdump_move_compare(const void *a, const void *b)
{
	const struct jit_code *x = &((const struct moved *)a)->place->code,
			      *y = &((const struct moved *)b)->place->code;

	return order_of(x->index, y->index) ?: order_of(x->move, y->move);
}

/* The second time: the first move that is looked for with the number @index, or NULL. */
static struct moved *jitdump_find_number(const struct jitdump *d, uint64_t index)
{
	size_t n = partition_point(d->n_moves, i, d->moves[i].place->code.index < index);

	return n < d->n_moves && d->moves[n].place->code.index == index ? &d->moves[n] : NULL;
}

/* The second time: names what is moved by @move. */
static void jitdump_name_moved(struct jitdump *d, const struct jit_code *move)
{
	const struct moved *first = jitdump_find_number(d, move->index), *end, *m;
	struct jit_code *code;

	if (!first)
		return;
	end = d->moves + d->n_moves;
	m = first + partition_point((size_t)(end - first), i,
				    first[i].place->code.index == move->index &&
					    first[i].place->code.move < move->move);
	for (; m < end && m->place->code.move == move->move; m++) {
		code = &m->place->code;
		code->name = first->load.name;
		code->lines = first->load.lines;
	}
}

/* Those that are the newest of a place, into @d, in order. Returns 0 or -ENOMEM. */
static int jitdump_collect_moves(struct jitdump *d)
{
	const struct jit_places *p = d->places;

	d->moves = calloc(p->n + 1, sizeof(*d->moves));
	if (!d->moves)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n; i++)
		if (p->is_first[i] && p->places[i].code.move)
			d->moves[d->n_moves++].place = &p->places[i];
	qsort(d->moves, d->n_moves, sizeof(*d->moves), jitdump_move_compare);
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static void jitdump_read_load(struct jitdump *d, const uint8_t *record, uint64_t at,
			      uint32_t length)
{
	uint64_t name = at + LOAD_HEADER, end = at + length, name_end, size;
	struct jit_code code = {0};
	struct moved *moved;

	if (length <= LOAD_HEADER)
		return;
	code.start = jitdump_u64(d, record + 32);
	size = jitdump_u64(d, record + 40);
	code.index = jitdump_u64(d, record + 48);
	name_end = jit_input_find(d->in, name, end, '\0');
	if (size > UINT64_MAX - code.start || name_end == name || name_end == end)
		return;
	code.end = code.start + size;
	code.name = (struct jit_bytes){(uint32_t)name, (uint32_t)(name_end - name)};
	code.lines = jitdump_claim_lines(d, code.start, size);
	if (!d->moves) {
		jit_places_add(d->places, &code);
		return;
	}
	moved = size ? jitdump_find_number(d, code.index) : NULL;
	if (moved)
		moved->load = code;
}

static void jitdump_read_move(struct jitdump *d, const uint8_t *record, uint64_t at,
			      uint32_t length)
{
	struct jit_code code = {.move = (uint32_t)at};
	uint64_t size;

	if (length < MOVE_LENGTH)
		return;
	code.start = jitdump_u64(d, record + 40);
	size = jitdump_u64(d, record + 48);
	code.index = jitdump_u64(d, record + 56);
	if (size > UINT64_MAX - code.start)
		return;
	code.end = code.start + size;
	if (d->moves)
		jitdump_name_moved(d, &code);
	else
		jit_places_add(d->places, &code);
}

static void jitdump_read_debug_info(struct jitdump *d, const uint8_t *record, uint64_t at,
				    uint32_t length)
{
	uint64_t n;

	if (length < DEBUG_HEADER)
		return;
	n = jitdump_u64(d, record + 24);
	d->pending[d->next_pending++ % PENDING_DEBUG_INFOS] = (struct jit_lines){
		.address = jitdump_u64(d, record + 16),
		.bytes = {(uint32_t)at + DEBUG_HEADER, length - DEBUG_HEADER},
		/* More than there are in any file are as many too many. */
		.n = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
	};
}

static void jitdump_read_records(struct jitdump *d, uint64_t at)
{
	while (at < d->in->end) {
		size_t n;
		/* No other part of a record with numbers is longer. */
		const uint8_t *record = jit_input_at(d->in, at, MOVE_LENGTH, &n);
		uint32_t kind, length;

		if (n < RECORD_HEADER)
			return;
		kind = jitdump_u32(d, record);
		length = jitdump_u32(d, record + 4);
		if (length < RECORD_HEADER || length > d->in->end - at || kind == RECORD_CLOSE)
			return;
		if (kind == RECORD_LOAD)
			jitdump_read_load(d, record, at, length);
		else if (kind == RECORD_MOVE)
			jitdump_read_move(d, record, at, length);
		else if (kind == RECORD_DEBUG_INFO)
			jitdump_read_debug_info(d, record, at, length);
		at += length;
	}
}

/* Returns enum worker_outcome; *ret_at is where records begin. */
static int jitdump_read_header(struct jitdump *d, uint64_t *ret_at)
{
	size_t n;
	const uint8_t *header = jit_input_at(d->in, 0, FILE_HEADER, &n);

	if (n >= sizeof(uint32_t)) {
		d->is_big = bytes_number(header, 4, true) == MAGIC;
		if (jitdump_u32(d, header) != MAGIC)
			return WORKER_NOT_ELF;
	}
	*ret_at = d->in->end;
	if (n < FILE_HEADER)
		return WORKER_DONE;
	/* The machine is there, too, but names are names on any. */
	*ret_at = jitdump_u32(d, header + 8);
	return jitdump_u32(d, header + 4) != VERSION || *ret_at < FILE_HEADER ? WORKER_MALFORMED
									      : WORKER_DONE;
}

static void jitdump_deinit(struct jitdump *d)
{
	free(d->moves);
}

int jitdump_read(struct jit_input *in, struct jit_places *places, struct jit_line **ret_lines)
{
	cleanup(jitdump_deinit) struct jitdump d = {
		.in = in,
		.places = places,
		.first_offset = UINT64_MAX,
	};
	cleanup(freep) struct jit_line *lines = NULL;
	uint64_t at;
	int r = jitdump_read_header(&d, &at);

	if (r)
		return r;
	jitdump_read_records(&d, at);
	r = jitdump_collect_moves(&d);
	if (r)
		return r;
	if (d.n_moves) {
		memset(d.pending, 0, sizeof(d.pending));
		jitdump_read_records(&d, at);
	}
	lines = calloc(places->n + 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	r = jitdump_find_lines(&d, lines);
	if (!r)
		*ret_lines = steal_ptr(&lines);
	return r;
}
