/* SPDX-License-Identifier: MIT */
/*
 * The message is packed in pieces: Profile messages that hold one thing each. Concatenated
 * encodings are the encoding of the merged message (protobuf.dev/programming-guides/encoding,
 * "Last One Wins"), so the pieces are one profile, and neither a tree of protobuf-c structs nor the
 * unpacked encoding of a whole profile is ever in memory. What comes out depends on the profile
 * alone: gzip's time stamp stays 0.
 *
 * ids are indices + 1; strings keep their numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/utf8.h"
#include "profile.pb-c.h"

#define BATCH_BYTES ((size_t)64 << 10) /* handed to zlib at once */

struct pprof_writer {
	z_stream z;
	bool z_ready;
	bool has_types;
	unsigned
		part; /* of what comes behind the samples, and how many of its things are written */
	size_t n_written;
	uint8_t *out; /* compressed, not yet taken */
	size_t out_length, out_size;
	uint8_t *batch; /* packed, not yet compressed */
	size_t batch_length, batch_size;
	uint64_t *location_ids; /* of the sample being written */
	size_t max_location_ids;
	Perftools__Profiles__Line **lines; /* of the location being written; one array behind */
	size_t max_lines;
	Perftools__Profiles__Label **labels; /* of the sample being written; likewise */
	size_t max_labels;
};

void pprof_writer_free(struct pprof_writer *w)
{
	if (!w)
		return;
	if (w->z_ready)
		deflateEnd(&w->z);
	free(w->out);
	free(w->batch);
	free(w->location_ids);
	free(w->lines);
	free(w->labels);
	free(w);
}

/* Compresses the batch; with Z_FINISH ends the file. */
static int compress_batch(struct pprof_writer *w, int flush)
{
	uint8_t *grown;
	size_t size;
	int r;

	w->z.next_in = w->batch;
	w->z.avail_in = (uInt)w->batch_length;
	do {
		if (w->out_size - w->out_length < BATCH_BYTES / 4) {
			size = w->out_size ? w->out_size * 2 : BATCH_BYTES;
			grown = realloc(w->out, size);
			if (!grown)
				return error_origin(-ENOMEM);
			w->out = grown;
			w->out_size = size;
		}
		size = w->out_size - w->out_length;
		w->z.next_out = w->out + w->out_length;
		w->z.avail_out = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
		size = w->z.avail_out;
		r = deflate(&w->z, flush);
		w->out_length += size - w->z.avail_out;
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return error_origin(-EIO);
	} while (flush == Z_FINISH ? r != Z_STREAM_END : w->z.avail_in > 0);
	w->batch_length = 0;
	return 0;
}

/* Appends one piece of the profile. */
static int pprof_put_piece(struct pprof_writer *w, const Perftools__Profiles__Profile *piece)
{
	size_t size = perftools__profiles__profile__get_packed_size(piece);
	uint8_t *grown;
	int r;

	if (size > UINT32_MAX / 2)
		return error_origin(-E2BIG);
	if (w->batch_length && w->batch_length + size > w->batch_size) {
		r = compress_batch(w, Z_NO_FLUSH);
		if (r)
			return r;
	}
	if (size > w->batch_size) {
		grown = realloc(w->batch, size);
		if (!grown)
			return error_origin(-ENOMEM);
		w->batch = grown;
		w->batch_size = size;
	}
	w->batch_length += perftools__profiles__profile__pack(piece, w->batch + w->batch_length);
	return 0;
}

int pprof_writer_new(struct pprof_writer **ret, int level)
{
	cleanup(pprof_writer_freep) struct pprof_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return error_origin(-ENOMEM);
	w->batch = malloc(BATCH_BYTES);
	if (!w->batch)
		return error_origin(-ENOMEM);
	w->batch_size = BATCH_BYTES;
	/* 15 bits of window; 16 asks for gzip's framing. */
	if (deflateInit2(&w->z, level < 1 || level > 9 ? 6 : level, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_origin(-ENOMEM);
	w->z_ready = true;
	*ret = steal_ptr(&w);
	return 0;
}

static int pprof_put_value_types(struct pprof_writer *w, const struct profile *p)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n_sample_types && !r; i++) {
		Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
		Perftools__Profiles__ValueType *pointer = &type;

		type.type = p->sample_types[i].type;
		type.unit = p->sample_types[i].unit;
		piece.n_sample_type = 1;
		piece.sample_type = &pointer;
		r = pprof_put_piece(w, &piece);
	}
	return r;
}

/*
 * Makes *array hold at least @n pointers to structs of @size bytes each, in one piece of memory:
 * first the pointers, behind them the structs.
 */
static int make_pointers(void *array, size_t *max, size_t n, size_t size)
{
	uint8_t **pointers, *structs;
	void *old;

	if (n <= *max)
		return 0;
	n += n / 2 + 4;
	pointers = reallocarray(NULL, n, sizeof(*pointers) + size);
	if (!pointers)
		return error_origin(-ENOMEM);
	structs = (uint8_t *)(pointers + n);
	for (size_t i = 0; i < n; i++)
		pointers[i] = structs + i * size;
	memcpy(&old, array, sizeof(old));
	free(old);
	memcpy(array, &pointers, sizeof(pointers));
	*max = n;
	return 0;
}

static int fill_labels(struct pprof_writer *w, const struct profile *p,
		       const struct profile_sample *s)
{
	int r = make_pointers(&w->labels, &w->max_labels, s->n_labels, sizeof(**w->labels));

	for (uint32_t i = 0; i < s->n_labels && !r; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];

		perftools__profiles__label__init(w->labels[i]);
		w->labels[i]->key = l->key;
		w->labels[i]->str = l->str;
		w->labels[i]->num = l->num;
		w->labels[i]->num_unit = l->num_unit;
	}
	return r;
}

static int pprof_put_sample(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_sample *s = &p->samples[index];
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Sample *pointer = &sample;
	int r;

	r = room_make(&w->location_ids, &w->max_location_ids, s->n_locations,
		      sizeof(*w->location_ids));
	if (r)
		return r;
	for (uint32_t i = 0; i < s->n_locations; i++)
		w->location_ids[i] = (uint64_t)p->sample_locations[s->first_location + i] + 1;
	r = fill_labels(w, p, s);
	if (r)
		return r;
	sample.n_location_id = s->n_locations;
	sample.location_id = w->location_ids;
	sample.n_value = p->n_sample_types;
	if (p->n_sample_types)
		sample.value = &p->sample_values[index * p->n_sample_types];
	sample.n_label = s->n_labels;
	sample.label = w->labels;
	piece.n_sample = 1;
	piece.sample = &pointer;
	return pprof_put_piece(w, &piece);
}

static int pprof_put_mapping(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_mapping *m = &p->mappings[index];
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	Perftools__Profiles__Mapping *pointer = &mapping;

	mapping.id = index + 1;
	mapping.memory_start = m->start;
	mapping.memory_limit = m->limit;
	mapping.file_offset = m->offset;
	mapping.filename = m->path;
	mapping.build_id = m->build_id;
	mapping.has_functions = m->has_functions;
	mapping.has_filenames = m->has_filenames;
	mapping.has_line_numbers = m->has_line_numbers;
	mapping.has_inline_frames = m->has_inline_frames;
	piece.n_mapping = 1;
	piece.mapping = &pointer;
	return pprof_put_piece(w, &piece);
}

static int pprof_put_location(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_location *l = &p->locations[index];
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Location *pointer = &location;
	int r;

	r = make_pointers(&w->lines, &w->max_lines, l->n_lines, sizeof(**w->lines));
	if (r)
		return r;
	for (uint32_t i = 0; i < l->n_lines; i++) {
		perftools__profiles__line__init(w->lines[i]);
		w->lines[i]->function_id = (uint64_t)p->lines[l->first_line + i].function + 1;
		w->lines[i]->line = p->lines[l->first_line + i].line;
		w->lines[i]->column = p->lines[l->first_line + i].column;
	}
	location.id = index + 1;
	location.mapping_id = l->mapping == PROFILE_NONE ? 0 : (uint64_t)l->mapping + 1;
	location.address = l->address;
	location.is_folded = l->is_folded;
	location.n_line = l->n_lines;
	location.line = w->lines;
	piece.n_location = 1;
	piece.location = &pointer;
	return pprof_put_piece(w, &piece);
}

static int pprof_put_function(struct pprof_writer *w, const struct profile *p, size_t index)
{
	const struct profile_function *f = &p->functions[index];
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Perftools__Profiles__Function *pointer = &function;

	function.id = index + 1;
	function.name = f->name;
	function.system_name = f->system_name;
	function.filename = f->filename;
	function.start_line = f->start_line;
	piece.n_function = 1;
	piece.function = &pointer;
	return pprof_put_piece(w, &piece);
}

static int pprof_put_string(struct pprof_writer *w, const struct profile *p, size_t index)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *text = (char *)(uintptr_t)profile_string(p, (uint32_t)index);
	cleanup(freep) char *repaired = NULL;

	/* Names may be any bytes, and the kernel cuts them anywhere; proto3 strings are UTF-8. */
	if (!utf8_is_valid(text)) {
		text = repaired = utf8_repair(text);
		if (!text)
			return error_origin(-ENOMEM);
	}
	piece.n_string_table = 1;
	piece.string_table = &text;
	return pprof_put_piece(w, &piece);
}

/* The numbers that stand in the profile itself. */
static int pprof_put_metadata(struct pprof_writer *w, const struct profile *p)
{
	cleanup(freep) int64_t *comments = NULL;
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period_type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	comments = reallocarray(NULL, p->n_comments + 1, sizeof(*comments));
	if (!comments)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_comments; i++)
		comments[i] = p->comments[i];
	piece.n_comment = p->n_comments;
	piece.comment = comments;
	if (p->period_type.type || p->period_type.unit) {
		period_type.type = p->period_type.type;
		period_type.unit = p->period_type.unit;
		piece.period_type = &period_type;
	}
	piece.period = p->period;
	piece.time_nanos = p->time_ns;
	piece.duration_nanos = p->duration_ns;
	piece.default_sample_type = p->default_sample_type;
	piece.drop_frames = p->drop_frames;
	piece.keep_frames = p->keep_frames;
	piece.doc_url = p->doc_url;
	return pprof_put_piece(w, &piece);
}

int pprof_writer_samples(struct pprof_writer *w, const struct profile *p, size_t first, size_t n)
{
	size_t end = n < p->n_samples - first ? first + n : p->n_samples;
	int r = 0;

	if (!w->has_types)
		r = pprof_put_value_types(w, p);
	w->has_types = true;
	for (size_t i = first; i < end && !r; i++)
		r = pprof_put_sample(w, p, i);
	return r;
}

/* What comes behind the samples: so many things of each kind. */
static size_t n_things(const struct profile *p, unsigned part)
{
	const size_t n[] = {p->n_mappings, p->n_locations, p->n_functions, profile_n_strings(p)};

	return n[part];
}

int pprof_writer_step(struct pprof_writer *w, const struct profile *p, size_t max, bool *ret_done)
{
	static int (*const put_thing[])(struct pprof_writer * w, const struct profile *p,
					size_t index) = {pprof_put_mapping, pprof_put_location,
							 pprof_put_function, pprof_put_string};
	int r = 0;

	for (; w->part < ARRAY_SIZE(put_thing); w->part++, w->n_written = 0) {
		for (size_t n = n_things(p, w->part); w->n_written < n; w->n_written++, max--) {
			if (!max) {
				*ret_done = false;
				return 0;
			}
			r = put_thing[w->part](w, p, w->n_written);
			if (r)
				return r;
		}
	}
	r = pprof_put_metadata(w, p);
	if (!r)
		r = compress_batch(w, Z_FINISH);
	if (!r)
		*ret_done = true;
	return r;
}

int pprof_writer_finish(struct pprof_writer *w, const struct profile *p)
{
	bool done;

	return pprof_writer_step(w, p, SIZE_MAX, &done);
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
	int r = pprof_writer_new(&w, level);

	if (!r)
		r = pprof_writer_samples(w, p, 0, SIZE_MAX);
	if (!r)
		r = pprof_writer_finish(w, p);
	return r ? r : pprof_writer_steal(w, ret, ret_length);
}
