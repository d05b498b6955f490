/* SPDX-License-Identifier: MIT */
/*
 * What is unpacked goes to the end of a buffer; the fields of the message that are whole are taken
 * from its front, and the rest moves there. The first time strings are taken at once, and all else
 * but the samples is copied into a message of its own, the tables, over which the reader walks when
 * it is complete, by bounded steps: things may be referred to before they come.
 */
#include "common/profile/pprof_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof_reading.h"
#include "common/room.h"

#define ROOM       ((size_t)64 << 10)
#define FIELD_MAX  (((size_t)1 << 20) + 16)
#define END_FIELDS 4096              /* at once; some microseconds each */
#define FEED_MAX   ((size_t)1 << 30) /* zlib counts in 32 bits */

enum packing { PACKING_UNKNOWN, PACKING_PLAIN, PACKING_GZIP };

struct pprof_reader {
	struct pprof_reading reading;
	enum packing packing;
	z_stream z;
	bool z_ready;
	bool z_ended;  /* a gzip member has; another one may follow */
	uint64_t n_in; /* packed bytes that are unpacked */
	uint8_t *buffer;
	size_t n_buffer, buffer_size;
	uint64_t offset;       /* of the buffer in the message */
	uint64_t max_unpacked; /* bound for all of it */
	size_t max_field;
	/* The message without strings and samples; before each field, a varint: what is left out.
	 */
	uint8_t *tables;
	size_t n_tables, tables_size;
	uint64_t tables_end;       /* in the message, of the last field */
	size_t n_bytes, max_bytes; /* of what samples refer to */
	unsigned walk;             /* over the tables, the one in work */
	size_t walked;             /* bytes of them that it has done */
	uint64_t walked_end;       /* in the message */
	bool has_tables;           /* it is the second time */
	uint32_t n_types;          /* of values, the first time */
};

int pprof_reader_new(struct pprof_reader **ret, size_t max_bytes)
{
	cleanup(pprof_reader_freep) struct pprof_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return error_origin(-ENOMEM);
	r->max_bytes = max_bytes;
	r->max_unpacked = UINT64_MAX;
	r->max_field = FIELD_MAX;
	if (inflateInit2(&r->z, 15 + 16) != Z_OK) /* gzip's framing */
		return error_origin(-ENOMEM);
	r->z_ready = true;
	e = profile_new(&r->reading.p);
	if (!e)
		*ret = steal_ptr(&r);
	return e;
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

void pprof_reader_set_times(struct pprof_reader *r, bool wanted)
{
	r->reading.ignores_times = !wanted;
}

/* --- the file, in pieces ---------------------------------------------------------------------- */

/* The field @f, which is the @n bytes at @from, of what samples refer to. */
static int pprof_reader_add_table(struct pprof_reader *r, const struct wire_field *f,
				  const uint8_t *from, size_t n)
{
	const uint64_t offset = r->offset + (size_t)(from - r->buffer);
	const bool is_string = f->number == PPROF_STRING;
	uint8_t gap[WIRE_FIELD_MAX];
	size_t n_gap = is_string ? 0 : (size_t)(wire_put_varint(gap, offset - r->tables_end) - gap);
	int e;

	if (n_gap + n > r->max_bytes - r->n_bytes)
		return profile_refuse(r->reading.message, PPROF_E_TOO_BIG,
				      "what its samples refer to takes more than %zu bytes",
				      r->max_bytes);
	r->n_bytes += n_gap + n;
	if (is_string)
		return pprof_reading_string(&r->reading, f);
	e = room_make(&r->tables, &r->tables_size, r->n_tables + n_gap + n, 1);
	if (e)
		return e;
	memcpy(r->tables + r->n_tables, gap, n_gap);
	memcpy(r->tables + r->n_tables + n_gap, from, n);
	r->n_tables += n_gap + n;
	r->tables_end = offset + n;
	return 0;
}

/* Takes the fields that are whole. A field that never gets whole ends with the file, or here. */
static int pprof_reader_read_fields(struct pprof_reader *r)
{
	struct wire w = {.at = r->buffer, .end = r->buffer + r->n_buffer};
	size_t done = 0;
	struct wire_field f;
	int e = 0;

	if (r->offset + r->n_buffer > r->max_unpacked)
		return profile_refuse(r->reading.message, PPROF_E_TOO_BIG,
				      "unpacks to more than %" PRIu64 " bytes", r->max_unpacked);
	while (!e && wire_next(&w, &f)) {
		r->n_types += !r->has_tables && f.number == PPROF_SAMPLE_TYPE;
		if (r->has_tables)
			e = pprof_reading_sample(&r->reading, &f);
		else if (!pprof_is_of_samples(f.number))
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
	if (r->n_buffer > r->max_field)
		return PPROF_REFUSE(&r->reading, "a field at byte %" PRIu64 " is longer than 1 MiB",
				    r->offset);
	return 0;
}

static int pprof_reader_feed_plain(struct pprof_reader *r, const uint8_t *data, size_t length)
{
	while (length) {
		size_t n = length < ROOM ? length : ROOM;
		int e = room_make(&r->buffer, &r->buffer_size, r->n_buffer + n, 1);

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
		e = room_make(&r->buffer, &r->buffer_size, r->n_buffer + ROOM, 1);
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
			return PPROF_REFUSE(&r->reading, "broken gzip data at byte %" PRIu64,
					    r->n_in);
		r->z_ended = z == Z_STREAM_END;
		e = pprof_reader_read_fields(r);
		if (e)
			return e;
	}
	return 0;
}

/* A message does not begin with gzip's first byte: there is no such type of field. */
int pprof_reader_feed(struct pprof_reader *r, const uint8_t *data, size_t length,
		      struct profile_message *message)
{
	r->reading.message = message;
	if (!length)
		return 0;
	if (length > FEED_MAX)
		return error_origin(-E2BIG);
	if (r->packing == PACKING_UNKNOWN)
		r->packing = data[0] == 0x1f ? PACKING_GZIP : PACKING_PLAIN;
	return r->packing == PACKING_GZIP ? pprof_reader_feed_gzip(r, data, length)
					  : pprof_reader_feed_plain(r, data, length);
}

/* The file has ended where it may end. */
static int pprof_reader_check_end(struct pprof_reader *r)
{
	if (r->packing == PACKING_GZIP ? !r->z_ended : r->packing == PACKING_UNKNOWN)
		return PPROF_REFUSE(&r->reading, "the file ends in its middle, at byte %" PRIu64,
				    r->n_in);
	if (r->n_buffer)
		return PPROF_REFUSE(&r->reading, "not a profile.proto: no field at byte %" PRIu64,
				    r->offset);
	return 0;
}

/* --- the tables ------------------------------------------------------------------------------- */

/* Two walks over the tables: locations refer to the others. At most @max fields at once. */
static int pprof_reader_read_tables(struct pprof_reader *r, size_t max, bool *ret_done)
{
	for (; r->walk < 2; r->walk++, r->walked = r->walked_end = 0) {
		while (r->walked < r->n_tables) {
			struct wire w = {.at = r->tables + r->walked,
					 .end = r->tables + r->n_tables};
			const uint8_t *begin;
			struct wire_field f;
			uint64_t gap = 0, offset;
			int e;

			if (!max--) {
				*ret_done = false;
				return 0;
			}
			/* Both as they were written. */
			(void)wire_varint(&w, &gap);
			begin = w.at;
			(void)wire_next(&w, &f);
			offset = r->walked_end + gap;
			r->walked_end = offset + (size_t)(w.at - begin);
			r->walked = (size_t)(w.at - r->tables);
			e = r->walk ? pprof_reading_location(&r->reading, &f)
				    : pprof_reading_table(&r->reading, &f);
			if (e == PPROF_E_MALFORMED)
				return pprof_reading_place(&r->reading, offset);
			if (e)
				return e;
		}
	}
	*ret_done = true;
	return 0;
}

int pprof_reader_end(struct pprof_reader *r, bool *ret_done, struct profile_message *message)
{
	int e;

	r->reading.message = message;
	e = pprof_reader_check_end(r);
	if (!e && !r->reading.n_strings)
		e = PPROF_REFUSE(&r->reading, "not a profile.proto: it has no string table");
	if (e)
		return e;
	if (r->has_tables) {
		*ret_done = true;
		return 0;
	}
	e = pprof_reader_read_tables(r, END_FIELDS, ret_done);
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

uint32_t pprof_reader_count_types(const struct pprof_reader *r)
{
	return r->n_types;
}

struct profile *pprof_reader_profile(struct pprof_reader *r)
{
	return r->reading.p;
}

int pprof_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	       struct profile_message *message)
{
	cleanup(pprof_reader_freep) struct pprof_reader *r = NULL;
	bool done = false;
	int e = pprof_reader_new(&r, SIZE_MAX);

	if (e)
		return e;
	r->max_unpacked = max_bytes;
	r->max_field = SIZE_MAX; /* all of it may be in memory at once */
	for (unsigned time = 0; time < 2; time++, done = false) {
		for (size_t at = 0, n; at < length; at += n) {
			n = length - at < FEED_MAX ? length - at : FEED_MAX;
			e = pprof_reader_feed(r, data + at, n, message);
			if (e)
				return e;
		}
		if (!r->offset && !r->n_buffer)
			return profile_refuse(message, PPROF_E_MALFORMED, "the profile is empty");
		while (!done) {
			e = pprof_reader_end(r, &done, message);
			if (e)
				return e;
		}
	}
	*ret = pprof_reader_steal(r);
	return PPROF_E_OK;
}
