/* SPDX-License-Identifier: MIT */
/*
 * What is unpacked goes to the end of a buffer; the fields of the message that are whole are taken
 * from its front, and the rest moves there. The first time strings are taken at once, and all else
 * but the samples is copied into a message of its own, which is read when it is complete: by
 * bounded steps, and as if it were a file.
 */
#include "common/profile/pprof_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/error.h"
#include "common/profile/pprof_read_private.h"

#define ROOM       ((size_t)64 << 10)
#define FIELD_MAX  (PPROF_SUBMESSAGE_MAX + 16)
#define END_FIELDS 4096 /* at once; some microseconds each */

enum packing { PACKING_UNKNOWN, PACKING_PLAIN, PACKING_GZIP };

struct pprof_reader {
	struct pprof_reading reading;
	enum packing packing;
	uint8_t first; /* byte, if that is all there is by now */
	bool has_first;
	z_stream z;
	bool z_ready;
	bool z_ended;  /* a gzip member has; another one may follow */
	uint64_t n_in; /* packed bytes that are unpacked */
	uint8_t *buffer;
	size_t n_buffer, buffer_size;
	uint64_t offset; /* of the buffer in the message */
	uint8_t *tables; /* the message without strings and samples */
	size_t n_tables, tables_size;
	struct pprof_places places; /* of the tables */
	size_t n_bytes, max_bytes;  /* of what samples refer to */
	bool has_tables;            /* it is the second time */
};

int pprof_reader_new(struct pprof_reader **ret, size_t max_bytes)
{
	cleanup(pprof_reader_freep) struct pprof_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return error_origin(-ENOMEM);
	r->max_bytes = max_bytes;
	if (inflateInit2(&r->z, 15 + 16) != Z_OK) /* gzip's framing, as in gunzip.c */
		return error_origin(-ENOMEM);
	r->z_ready = true;
	e = profile_new(&r->reading.p);
	if (e)
		return e;
	*ret = steal_ptr(&r);
	return 0;
}

void pprof_reader_free(struct pprof_reader *r)
{
	if (!r)
		return;
	if (r->z_ready)
		inflateEnd(&r->z);
	pprof_reading_deinit(&r->reading);
	free(r->buffer);
	free(r->tables);
	free(r);
}

/* Room for @n more bytes; doubles, up to @max. */
static int pprof_reader_make_room(uint8_t **bytes, size_t *size, size_t used, size_t n)
{
	size_t wanted = *size ? *size : ROOM;
	uint8_t *grown;

	if (n <= *size - used)
		return 0;
	while (wanted - used < n)
		wanted *= 2;
	grown = realloc(*bytes, wanted);
	if (!grown)
		return error_origin(-ENOMEM);
	*bytes = grown;
	*size = wanted;
	return 0;
}

/* The next @n bytes of the tables are from @offset of the message on. */
static void pprof_reader_note_place(struct pprof_reader *r, uint64_t offset, size_t n)
{
	struct pprof_places *p = &r->places;
	size_t at = r->n_tables;

	if (at != p->end)
		return; /* there were too many before it */
	if (!p->n || p->pieces[p->n - 1].offset + (at - p->pieces[p->n - 1].at) != offset) {
		if (p->n == ARRAY_SIZE(p->pieces))
			return;
		p->pieces[p->n].at = at;
		p->pieces[p->n++].offset = offset;
	}
	p->end += n;
}

/* The field @f, which is the @n bytes at @from, of what samples refer to. */
static int pprof_reader_add_table(struct pprof_reader *r, const struct wire_field *f,
				  const uint8_t *from, size_t n)
{
	int e;

	if (n > r->max_bytes - r->n_bytes)
		return profile_refuse(r->reading.message, PPROF_E_TOO_BIG,
				      "what its samples refer to takes more than %zu bytes",
				      r->max_bytes);
	r->n_bytes += n;
	if (f->number == PPROF_F_STRING)
		return pprof_reading_add_string(&r->reading, f);
	e = pprof_reader_make_room(&r->tables, &r->tables_size, r->n_tables, n);
	if (e)
		return e;
	memcpy(r->tables + r->n_tables, from, n);
	pprof_reader_note_place(r, r->offset + (size_t)(from - r->buffer), n);
	r->n_tables += n;
	return 0;
}

/* Takes the fields that are whole. A field that never gets whole ends with the file, or here. */
static int pprof_reader_read_fields(struct pprof_reader *r)
{
	struct wire w = {.at = r->buffer, .end = r->buffer + r->n_buffer};
	size_t done = 0;
	struct wire_field f;
	int e = 0;

	while (!e && wire_next(&w, &f)) {
		if (r->has_tables)
			e = pprof_reading_sample(&r->reading, &f);
		else if (f.number != PPROF_F_SAMPLE)
			e = pprof_reader_add_table(r, &f, r->buffer + done,
						   (size_t)(w.at - r->buffer) - done);
		if (e == PPROF_E_MALFORMED)
			return pprof_reading_place(&r->reading, r->offset + done);
		done = (size_t)(w.at - r->buffer);
	}
	if (e)
		return e;
	if (done) {
		r->n_buffer -= done;
		r->offset += done;
		memmove(r->buffer, r->buffer + done, r->n_buffer);
	}
	if (r->n_buffer > FIELD_MAX)
		return PPROF_REFUSE(&r->reading, "a field at byte %llu is longer than 1 MiB",
				    (unsigned long long)r->offset);
	return 0;
}

static int pprof_reader_feed_plain(struct pprof_reader *r, const uint8_t *data, size_t length)
{
	while (length) {
		size_t n = length < ROOM ? length : ROOM;
		int e = pprof_reader_make_room(&r->buffer, &r->buffer_size, r->n_buffer, n);

		if (e)
			return e;
		memcpy(r->buffer + r->n_buffer, data, n);
		r->n_buffer += n;
		data += n;
		length -= n;
		e = pprof_reader_read_fields(r);
		if (e)
			return e;
	}
	return 0;
}

static int pprof_reader_feed_gzip(struct pprof_reader *r, const uint8_t *data, size_t length)
{
	int e, z = Z_OK;
	uInt before;

	r->z.next_in = (z_const Bytef *)(uintptr_t)data;
	r->z.avail_in = (uInt)length;
	/* Also while it may hold back what there was no room for. */
	while (r->z.avail_in || (z == Z_OK && !r->z.avail_out)) {
		if (r->z_ended)
			inflateReset(&r->z);
		r->z_ended = false;
		e = pprof_reader_make_room(&r->buffer, &r->buffer_size, r->n_buffer, ROOM);
		if (e)
			return e;
		r->z.next_out = r->buffer + r->n_buffer;
		r->z.avail_out = (uInt)ROOM;
		before = r->z.avail_in;
		z = inflate(&r->z, Z_NO_FLUSH);
		r->n_in += before - r->z.avail_in;
		r->n_buffer += ROOM - r->z.avail_out;
		if (z == Z_MEM_ERROR)
			return error_origin(-ENOMEM);
		if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			return PPROF_REFUSE(&r->reading, "broken gzip data at byte %llu",
					    (unsigned long long)r->n_in);
		r->z_ended = z == Z_STREAM_END;
		e = pprof_reader_read_fields(r);
		if (e)
			return e;
	}
	return 0;
}

static int pprof_reader_feed_bytes(struct pprof_reader *r, const uint8_t *data, size_t length)
{
	return r->packing == PACKING_GZIP ? pprof_reader_feed_gzip(r, data, length)
					  : pprof_reader_feed_plain(r, data, length);
}

int pprof_reader_feed(struct pprof_reader *r, const uint8_t *data, size_t length,
		      struct profile_message *message)
{
	int e;

	r->reading.message = message;
	if (!length)
		return 0;
	if (length > UINT32_MAX)
		return error_origin(-E2BIG);
	if (r->packing != PACKING_UNKNOWN)
		return pprof_reader_feed_bytes(r, data, length);
	/* Two bytes tell what it is. */
	if (r->has_first) {
		const uint8_t start[2] = {r->first, data[0]};

		r->packing = start[0] == 0x1f && start[1] == 0x8b ? PACKING_GZIP : PACKING_PLAIN;
		e = pprof_reader_feed_bytes(r, start, 2);
		return e ? e : pprof_reader_feed_bytes(r, data + 1, length - 1);
	}
	if (length == 1) {
		r->first = data[0];
		r->has_first = true;
		return 0;
	}
	r->packing = data[0] == 0x1f && data[1] == 0x8b ? PACKING_GZIP : PACKING_PLAIN;
	return pprof_reader_feed_bytes(r, data, length);
}

/* The file has ended where it may end. */
static int check_end(struct pprof_reader *r)
{
	if (r->packing == PACKING_GZIP ? !r->z_ended : r->packing == PACKING_UNKNOWN)
		return PPROF_REFUSE(&r->reading, "the file ends in its middle, at byte %llu",
				    (unsigned long long)r->n_in + r->has_first);
	if (r->n_buffer)
		return PPROF_REFUSE(&r->reading, "not a profile.proto: no field at byte %llu",
				    (unsigned long long)r->offset);
	return 0;
}

int pprof_reader_end(struct pprof_reader *r, bool *ret_done, struct profile_message *message)
{
	int e;

	r->reading.message = message;
	e = check_end(r);
	if (e || r->has_tables) {
		if (!e)
			*ret_done = true;
		return e;
	}
	/* Of a file that holds samples alone nothing was kept. */
	r->reading.data = (struct wire){.at = r->tables,
					.end = r->tables ? r->tables + r->n_tables : NULL};
	r->reading.places = &r->places;
	e = pprof_reading_step(&r->reading, END_FIELDS, ret_done);
	if (e || !*ret_done)
		return e;
	freep(&r->tables);
	r->tables = NULL;
	pprof_ids_deinit(&r->reading.mappings);
	pprof_ids_deinit(&r->reading.functions);
	profile_settle(r->reading.p);
	r->has_tables = true;
	r->offset = r->n_in = 0;
	return 0;
}

struct profile *pprof_reader_steal(struct pprof_reader *r)
{
	return steal_ptr(&r->reading.p);
}

struct profile *pprof_reader_profile(struct pprof_reader *r)
{
	return r->reading.p;
}
