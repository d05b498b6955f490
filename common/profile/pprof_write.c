/* SPDX-License-Identifier: MIT */
/*
 * The message is written field by field into a batch, which is compressed as it fills: the unpacked
 * encoding of a whole profile is never in memory. Samples come first, what they refer to behind
 * them. What comes out depends on the profile alone: gzip's time stamp stays 0. Before samples
 * whose times are known there is a field for these: times_block.h.
 *
 * ids are indices + 1; strings keep their numbers. Numbers of fields: profile.proto's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/times_block.h"
#include "common/room.h"
#include "common/utf8.h"
#include "common/wire.h"

#define BATCH_BYTES     ((size_t)64 << 10) /* handed to zlib at once */
#define CODES_BYTES     256u               /* that are worth codes of their own */
#define LABEL_BYTES_MAX ((size_t)5 * WIRE_FIELD_MAX)
#define LINE_BYTES_MAX  ((size_t)4 * WIRE_FIELD_MAX)

struct pprof_writer {
	z_stream z;
	bool z_ready;
	bool has_types;
	unsigned
		part; /* of what comes behind the samples, and how many of its things are written */
	size_t n_written;
	uint8_t *out; /* compressed, not yet taken */
	size_t out_length, out_size;
	uint8_t *batch; /* not yet compressed */
	size_t batch_length, batch_size;
};

int pprof_writer_new(struct pprof_writer **ret, int level)
{
	cleanup(pprof_writer_freep) struct pprof_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return error_origin(-ENOMEM);
	/* 15 bits of window; 16 asks for gzip's framing. */
	if (deflateInit2(&w->z, level < 1 || level > 9 ? 6 : level, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_origin(-ENOMEM);
	w->z_ready = true;
	*ret = steal_ptr(&w);
	return 0;
}

void pprof_writer_free(struct pprof_writer *w)
{
	if (!w)
		return;
	if (w->z_ready)
		deflateEnd(&w->z);
	free(w->out);
	free(w->batch);
	free(w);
}

/* Compresses the batch; Z_BLOCK: what follows has codes of its own; Z_FINISH ends the file. */
static int pprof_compress_batch(struct pprof_writer *w, int flush)
{
	size_t room;
	int r;

	w->z.next_in = w->batch;
	w->z.avail_in = (uInt)w->batch_length;
	do {
		r = room_make(&w->out, &w->out_size, w->out_length + BATCH_BYTES / 4, 1);
		if (r)
			return r;
		room = w->out_size - w->out_length;
		w->z.next_out = w->out + w->out_length;
		w->z.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
		room = w->z.avail_out;
		r = deflate(&w->z, flush);
		w->out_length += room - w->z.avail_out;
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return error_origin(-EIO);
	} while (flush == Z_FINISH ? r != Z_STREAM_END : w->z.avail_in > 0 || !w->z.avail_out);
	w->batch_length = 0;
	return 0;
}

/* Where the next field may be written, with room for @n bytes; pprof_put_end() ends it. */
static int pprof_put_begin(struct pprof_writer *w, size_t n, uint8_t **ret)
{
	int r = 0;

	*ret = NULL;
	if (n > UINT32_MAX / 2)
		return error_origin(-E2BIG);
	if (w->batch_length && w->batch_length + n > BATCH_BYTES)
		r = pprof_compress_batch(w, Z_NO_FLUSH);
	if (!r)
		r = room_make(&w->batch, &w->batch_size, w->batch_length + n, 1);
	if (!r)
		*ret = w->batch + w->batch_length;
	return r;
}

static void pprof_put_end(struct pprof_writer *w, const uint8_t *end)
{
	w->batch_length = (size_t)(end - w->batch);
}

/* A field that is a message of numbers. */
static int pprof_put_message(struct pprof_writer *w, uint32_t field, const uint64_t *numbers,
			     size_t n)
{
	uint8_t *to;
	int r = pprof_put_begin(w, (n + 1) * WIRE_FIELD_MAX, &to);

	if (!r)
		pprof_put_end(w, wire_put_message(to, field, numbers, n));
	return r;
}

static int pprof_put_value_type(struct pprof_writer *w, uint32_t field,
				const struct profile_value_type *type)
{
	const uint64_t numbers[] = {type->type, type->unit};

	return pprof_put_message(w, field, numbers, ARRAY_SIZE(numbers));
}

/* Locations and values are lists, which are packed. */
static int pprof_put_sample(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_sample *s = &p->samples[index];
	uint8_t *to, *list, *end;
	int r = pprof_put_begin(w,
				((size_t)3 + s->n_locations + p->n_sample_types) * WIRE_FIELD_MAX +
					s->n_labels * LABEL_BYTES_MAX,
				&to);

	if (r)
		return r;
	list = to + WIRE_FIELD_MAX;
	end = list + WIRE_FIELD_MAX;
	for (uint32_t i = 0; i < s->n_locations; i++)
		end = wire_put_varint(end,
				      (uint64_t)p->sample_locations[s->first_location + i] + 1);
	list = wire_close_list(list, 1, end);
	end = list + WIRE_FIELD_MAX;
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		end = wire_put_varint(end,
				      (uint64_t)p->sample_values[index * p->n_sample_types + i]);
	end = wire_close_list(list, 2, end);
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];
		const uint64_t label[] = {l->key, l->str, (uint64_t)l->num, l->num_unit};

		end = wire_put_message(end, 3, label, ARRAY_SIZE(label));
	}
	pprof_put_end(w, wire_close(to, 2, end));
	return 0;
}

/*
 * The times of the next samples from @first on, in front of them: *ret_n. They cannot be
 * compressed, and would have the codes for all else take more.
 */
static int pprof_put_times(struct pprof_writer *w, const struct profile *p, size_t first,
			   size_t end, size_t *ret_n)
{
	struct times_block block;
	int flush = Z_NO_FLUSH;
	uint8_t *to;
	int r = times_block_make(p, first, end, &block);

	if (r)
		return r;
	*ret_n = block.n_samples;
	if (block.length >= CODES_BYTES) {
		flush = Z_BLOCK;
		r = pprof_compress_batch(w, flush);
	}
	if (!r && block.length)
		r = pprof_put_begin(w, block.length, &to);
	if (!r && block.length) {
		memcpy(to, block.field, block.length);
		pprof_put_end(w, to + block.length);
		if (flush)
			r = pprof_compress_batch(w, flush);
	}
	free(block.field);
	return r;
}

static int pprof_put_mapping(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_mapping *m = &p->mappings[index];
	const uint64_t numbers[] = {
		index + 1,
		m->start,
		m->limit,
		m->offset,
		m->path,
		m->build_id,
		m->has_functions,
		m->has_filenames,
		m->has_line_numbers,
		m->has_inline_frames,
	};

	return pprof_put_message(w, 3, numbers, ARRAY_SIZE(numbers));
}

static int pprof_put_location(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_location *l = &p->locations[index];
	const uint64_t mapping = l->mapping == PROFILE_NONE ? 0 : (uint64_t)l->mapping + 1;
	const uint64_t before[] = {index + 1, mapping, l->address}, behind[] = {l->is_folded};
	uint8_t *to, *end;
	int r = pprof_put_begin(w, 5 * WIRE_FIELD_MAX + l->n_lines * LINE_BYTES_MAX, &to);

	if (r)
		return r;
	end = wire_put_numbers(to + WIRE_FIELD_MAX, 1, before, ARRAY_SIZE(before));
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const uint64_t numbers[] = {(uint64_t)line->function + 1, (uint64_t)line->line,
					    (uint64_t)line->column};

		end = wire_put_message(end, 4, numbers, ARRAY_SIZE(numbers));
	}
	end = wire_put_numbers(end, 5, behind, ARRAY_SIZE(behind));
	pprof_put_end(w, wire_close(to, 4, end));
	return 0;
}

static int pprof_put_function(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_function *f = &p->functions[index];
	const uint64_t numbers[] = {index + 1, f->name, f->system_name, f->filename,
				    (uint64_t)f->start_line};

	return pprof_put_message(w, 5, numbers, ARRAY_SIZE(numbers));
}

static int pprof_put_string(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const char *text = profile_string(p, (uint32_t)index);
	cleanup(freep) char *repaired = NULL;
	size_t length;
	uint8_t *to;
	int r;

	/* Names may be any bytes, and the kernel cuts them anywhere; proto3 strings are UTF-8. */
	if (!utf8_is_valid(text)) {
		text = repaired = utf8_repair(text);
		if (!text)
			return error_origin(-ENOMEM);
	}
	length = strlen(text);
	r = pprof_put_begin(w, WIRE_FIELD_MAX + length, &to);
	if (r)
		return r;
	memcpy(to + WIRE_FIELD_MAX, text, length);
	pprof_put_end(w, wire_close(to, 6, to + WIRE_FIELD_MAX + length));
	return 0;
}

/* The numbers that are fields of the profile itself: 7 to 15. */
static int pprof_put_metadata(struct pprof_writer *w, const struct profile *p)
{
	const uint64_t before[] = {p->drop_frames, p->keep_frames, (uint64_t)p->time_ns,
				   (uint64_t)p->duration_ns};
	const uint64_t period[] = {(uint64_t)p->period};
	const uint64_t behind[] = {p->default_sample_type, p->doc_url};
	uint8_t *to, *end;
	int r = pprof_put_begin(w, ARRAY_SIZE(before) * WIRE_FIELD_MAX, &to);

	if (r)
		return r;
	pprof_put_end(w, wire_put_numbers(to, 7, before, ARRAY_SIZE(before)));
	if (p->period_type.type || p->period_type.unit)
		r = pprof_put_value_type(w, 11, &p->period_type);
	if (!r)
		r = pprof_put_begin(w, (p->n_comments + 4) * WIRE_FIELD_MAX, &to);
	if (r)
		return r;
	to = wire_put_numbers(to, 12, period, ARRAY_SIZE(period));
	end = to + WIRE_FIELD_MAX;
	for (size_t i = 0; i < p->n_comments; i++)
		end = wire_put_varint(end, p->comments[i]);
	to = wire_close_list(to, 13, end);
	pprof_put_end(w, wire_put_numbers(to, 14, behind, ARRAY_SIZE(behind)));
	return 0;
}

int pprof_writer_samples(struct pprof_writer *w, const struct profile *p, size_t first, size_t n)
{
	size_t end = n < p->n_samples - first ? first + n : p->n_samples;
	int r = 0;

	for (uint32_t i = 0; !w->has_types && i < p->n_sample_types && !r; i++)
		r = pprof_put_value_type(w, 1, &p->sample_types[i]);
	w->has_types = true;
	for (size_t i = first, n_timed = 0; i < end && !r; i++, n_timed--) {
		if (!n_timed)
			r = pprof_put_times(w, p, i, end, &n_timed);
		if (!r)
			r = pprof_put_sample(w, p, i);
	}
	return r;
}

int pprof_writer_step(struct pprof_writer *w, const struct profile *p, size_t max, bool *ret_done)
{
	const struct {
		int (*put)(struct pprof_writer *w, const struct profile *p, size_t index);
		size_t n;
	} parts[] = {
		{pprof_put_mapping, p->n_mappings},
		{pprof_put_location, p->n_locations},
		{pprof_put_function, p->n_functions},
		{pprof_put_string, profile_n_strings(p)},
	};
	int r;

	for (; w->part < ARRAY_SIZE(parts); w->part++, w->n_written = 0) {
		for (; w->n_written < parts[w->part].n; w->n_written++, max--) {
			if (!max) {
				*ret_done = false;
				return 0;
			}
			r = parts[w->part].put(w, p, w->n_written);
			if (r)
				return r;
		}
	}
	r = pprof_put_metadata(w, p) ?: pprof_compress_batch(w, Z_FINISH);
	if (!r)
		*ret_done = true;
	return r;
}

int pprof_writer_steal(struct pprof_writer *w, uint8_t **ret, size_t *ret_length)
{
	if (!w->out && !(w->out = malloc(1)))
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&w->out);
	*ret_length = w->out_length;
	w->out_length = w->out_size = 0;
	return 0;
}

int pprof_write(const struct profile *p, int level, uint8_t **ret, size_t *ret_length)
{
	cleanup(pprof_writer_freep) struct pprof_writer *w = NULL;
	bool done;

	return pprof_writer_new(&w, level) ?:
	       pprof_writer_samples(w, p, 0, SIZE_MAX) ?:
	       pprof_writer_step(w, p, SIZE_MAX, &done) ?:
	       pprof_writer_steal(w, ret, ret_length);
}
