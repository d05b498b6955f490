/* SPDX-License-Identifier: MIT */
/*
 * The reader holds the unpacked message and walks over its top-level fields four times, because
 * each kind of thing refers to others that may come later: strings, then what refers to strings
 * only, then locations, then samples. Skipping a field costs some nanoseconds.
 *
 * protobuf-c unpacks the small submessages. It does not unpack the whole: a million samples would
 * be some ten million allocations and three gigabytes. For the same reason samples are decoded
 * without it (pprof_samples.c). Submessages that protobuf-c sees are limited in size, because it
 * takes up to forty times a message's bytes in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/gunzip.h"
#include "common/profile/pprof_read_private.h"
#include "profile.pb-c.h"

/* Field numbers of Profile, see common/profile.proto. */
enum {
	F_SAMPLE_TYPE = 1,
	F_MAPPING = 3,
	F_LOCATION = 4,
	F_FUNCTION = 5,
	F_DROP_FRAMES = 7,
	F_KEEP_FRAMES = 8,
	F_TIME_NANOS = 9,
	F_DURATION_NANOS = 10,
	F_PERIOD_TYPE = 11,
	F_PERIOD = 12,
	F_COMMENT = 13,
	F_DEFAULT_SAMPLE_TYPE = 14,
	F_DOC_URL = 15,
};

void pprof_reading_deinit(struct pprof_reading *r)
{
	profile_free(r->p);
	free(r->strings);
	pprof_ids_deinit(&r->mappings);
	pprof_ids_deinit(&r->functions);
	pprof_ids_deinit(&r->locations);
	free(r->sample_locations);
	free(r->labels);
}

int pprof_reading_place(struct pprof_reading *r, uint64_t offset)
{
	struct profile_message what;

	if (!r->message)
		return PPROF_E_MALFORMED;
	what = *r->message;
	return PPROF_REFUSE(r, "%.150s, at byte %" PRIu64, what.text, offset);
}

/* Of the field at @at of the data. */
static int pprof_report_place(struct pprof_reading *r, size_t at)
{
	const struct pprof_places *places = r->places;
	size_t i;

	if (!places)
		return pprof_reading_place(r, at);
	if (at >= places->end)
		return PPROF_E_MALFORMED;
	for (i = places->n - 1; places->pieces[i].at > at; i--)
		;
	return pprof_reading_place(r, places->pieces[i].offset + (at - places->pieces[i].at));
}

int pprof_reading_checked(struct pprof_reading *r, int error)
{
	if (error == -E2BIG)
		return profile_refuse(r->message, PPROF_E_TOO_BIG,
				      "more entries of a kind than can be numbered");
	return error;
}

int pprof_reading_string(struct pprof_reading *r, int64_t number, uint32_t *ret)
{
	if (number < 0 || (uint64_t)number >= r->n_strings)
		return PPROF_REFUSE(r,
				    "string number %" PRId64 " is not among the %zu of the table",
				    number, r->n_strings);
	*ret = r->strings[number];
	return 0;
}

int pprof_reading_grow(uint32_t **array, size_t *max)
{
	size_t wanted = *max ? *max * 2 : 64;
	uint32_t *grown = reallocarray(*array, wanted, sizeof(*grown));

	if (!grown)
		return error_origin(-ENOMEM);
	*array = grown;
	*max = wanted;
	return 0;
}

int pprof_reading_add_string(struct pprof_reading *r, const struct wire_field *f)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at);
	int e;

	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "string %zu of the table is not a text", r->n_strings);
	if (!r->n_strings && length)
		return PPROF_REFUSE(r, "the first string of the table is not empty");
	if (length && memchr(f->bytes.at, '\0', length))
		return PPROF_REFUSE(r, "string %zu of the table holds a NUL byte", r->n_strings);
	if (r->n_strings == r->max_strings) {
		e = pprof_reading_grow(&r->strings, &r->max_strings);
		if (e)
			return e;
	}
	e = profile_add_string(r->p, (const char *)f->bytes.at, length, &r->strings[r->n_strings]);
	if (e)
		return pprof_reading_checked(r, e);
	r->n_strings++;
	return 0;
}

static int pass_strings(struct pprof_reading *r, const struct wire_field *f)
{
	if (f->number == PPROF_F_STRING)
		return pprof_reading_add_string(r, f);
	if (f->number == F_TIME_NANOS && ++r->n_time_nanos > 1)
		return PPROF_REFUSE(r, "more than one start time: several profiles in one file");
	return 0;
}

/* protobuf-c's unpacked submessage of field @f in *ret, to be freed by protobuf-c. */
static int pprof_unpack_message(struct pprof_reading *r, const struct wire_field *f,
				const ProtobufCMessageDescriptor *descriptor,
				ProtobufCMessage **ret)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at);

	if (f->type != WIRE_BYTES || length > PPROF_SUBMESSAGE_MAX)
		return PPROF_REFUSE(r, "a %s is %s", descriptor->short_name,
				    f->type != WIRE_BYTES ? "not a message" : "longer than 1 MiB");
	*ret = protobuf_c_message_unpack(descriptor, NULL, length, f->bytes.at);
	if (!*ret)
		return PPROF_REFUSE(r, "a %s cannot be decoded", descriptor->short_name);
	return 0;
}

static void message_freep(ProtobufCMessage **message)
{
	if (*message)
		protobuf_c_message_free_unpacked(*message, NULL);
}

static int read_value_type(struct pprof_reading *r, const struct wire_field *f,
			   struct profile_value_type *ret)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__ValueType *t;
	int e;

	e = pprof_unpack_message(r, f, &perftools__profiles__value_type__descriptor, &message);
	if (e)
		return e;
	t = (const Perftools__Profiles__ValueType *)message;
	e = pprof_reading_string(r, t->type, &ret->type);
	return e ? e : pprof_reading_string(r, t->unit, &ret->unit);
}

static int read_sample_type(struct pprof_reading *r, const struct wire_field *f)
{
	if (r->p->n_sample_types == PROFILE_TYPES_MAX)
		return PPROF_REFUSE(r, "more than %d sample types", PROFILE_TYPES_MAX);
	return read_value_type(r, f, &r->p->sample_types[r->p->n_sample_types++]);
}

/* Books @id, which must be nonzero, for @index. */
static int pprof_add_id(struct pprof_reading *r, struct pprof_ids *ids, uint64_t id, uint32_t index,
			const char *what)
{
	if (!id)
		return PPROF_REFUSE(r, "a %s has id 0", what);
	return pprof_ids_add(ids, id, index);
}

static int read_mapping(struct pprof_reading *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__Mapping *m;
	struct profile_mapping mapping;
	uint32_t index;
	int e;

	e = pprof_unpack_message(r, f, &perftools__profiles__mapping__descriptor, &message);
	if (e)
		return e;
	m = (const Perftools__Profiles__Mapping *)message;
	mapping = (struct profile_mapping){.start = m->memory_start,
					   .limit = m->memory_limit,
					   .offset = m->file_offset,
					   .has_functions = m->has_functions,
					   .has_filenames = m->has_filenames,
					   .has_line_numbers = m->has_line_numbers,
					   .has_inline_frames = m->has_inline_frames};
	e = pprof_reading_string(r, m->filename, &mapping.path);
	if (e)
		return e;
	e = pprof_reading_string(r, m->build_id, &mapping.build_id);
	if (e)
		return e;
	e = profile_add_mapping(r->p, &mapping, &index);
	return e ? pprof_reading_checked(r, e)
		 : pprof_add_id(r, &r->mappings, m->id, index, "mapping");
}

static int read_function(struct pprof_reading *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__Function *m;
	struct profile_function function;
	uint32_t index;
	int e;

	e = pprof_unpack_message(r, f, &perftools__profiles__function__descriptor, &message);
	if (e)
		return e;
	m = (const Perftools__Profiles__Function *)message;
	function.start_line = m->start_line;
	e = pprof_reading_string(r, m->name, &function.name);
	if (e)
		return e;
	e = pprof_reading_string(r, m->system_name, &function.system_name);
	if (e)
		return e;
	e = pprof_reading_string(r, m->filename, &function.filename);
	if (e)
		return e;
	e = profile_add_function(r->p, &function, &index);
	return e ? pprof_reading_checked(r, e)
		 : pprof_add_id(r, &r->functions, m->id, index, "function");
}

static int read_comment(struct pprof_reading *r, uint64_t number)
{
	uint32_t string = 0;
	int e;

	e = pprof_reading_string(r, (int64_t)number, &string);
	if (e)
		return e;
	return pprof_reading_checked(r, profile_add_comment(r->p, profile_string(r->p, string)));
}

static int read_comments(struct pprof_reading *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return read_comment(r, f->value);
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "a comment is not a number");
	while (w.at < w.end) {
		if (!wire_varint(&w, &number))
			return PPROF_REFUSE(r, "the comments end in the middle of a number");
		e = read_comment(r, number);
		if (e)
			return e;
	}
	return 0;
}

static int read_scalar(struct pprof_reading *r, const struct wire_field *f)
{
	int64_t value = (int64_t)f->value;

	if (f->type != WIRE_VARINT)
		return PPROF_REFUSE(r, "field %" PRIu32 " is not a number", f->number);
	switch (f->number) {
	case F_DROP_FRAMES:
		return pprof_reading_string(r, value, &r->p->drop_frames);
	case F_KEEP_FRAMES:
		return pprof_reading_string(r, value, &r->p->keep_frames);
	case F_DEFAULT_SAMPLE_TYPE:
		return pprof_reading_string(r, value, &r->p->default_sample_type);
	case F_DOC_URL:
		return pprof_reading_string(r, value, &r->p->doc_url);
	case F_TIME_NANOS:
		r->p->time_ns = value;
		return 0;
	case F_DURATION_NANOS:
		r->p->duration_ns = value;
		return 0;
	default:
		r->p->period = value;
		return 0;
	}
}

/* What refers to nothing but strings. */
static int pass_tables(struct pprof_reading *r, const struct wire_field *f)
{
	switch (f->number) {
	case F_SAMPLE_TYPE:
		return read_sample_type(r, f);
	case F_MAPPING:
		return read_mapping(r, f);
	case F_FUNCTION:
		return read_function(r, f);
	case F_PERIOD_TYPE:
		return read_value_type(r, f, &r->p->period_type);
	case F_COMMENT:
		return read_comments(r, f);
	case F_DROP_FRAMES:
	case F_KEEP_FRAMES:
	case F_TIME_NANOS:
	case F_DURATION_NANOS:
	case F_PERIOD:
	case F_DEFAULT_SAMPLE_TYPE:
	case F_DOC_URL:
		return read_scalar(r, f);
	default:
		return 0;
	}
}

static int pass_locations(struct pprof_reading *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	cleanup(freep) struct profile_line *lines = NULL;
	const Perftools__Profiles__Location *m;
	uint32_t index;
	int e;

	if (f->number != F_LOCATION)
		return 0;
	e = pprof_unpack_message(r, f, &perftools__profiles__location__descriptor, &message);
	if (e)
		return e;
	m = (const Perftools__Profiles__Location *)message;
	lines = calloc(m->n_line ? m->n_line : 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < m->n_line; i++) {
		lines[i].function = pprof_ids_find(&r->functions, m->line[i]->function_id);
		lines[i].line = m->line[i]->line;
		/* No line is that long: it is damage, and no reason to refuse the file. */
		if (m->line[i]->column >= INT32_MIN && m->line[i]->column <= INT32_MAX)
			lines[i].column = (int32_t)m->line[i]->column;
		if (lines[i].function == PROFILE_NONE)
			return PPROF_REFUSE(r,
					    "location %" PRIu64 " names function %" PRIu64
					    ", which does not exist",
					    m->id, m->line[i]->function_id);
	}
	/* A mapping that does not exist is none: go tool pprof reads such files. */
	e = profile_add_location(r->p, pprof_ids_find(&r->mappings, m->mapping_id), m->address,
				 lines, (uint32_t)m->n_line, &index);
	if (e)
		return pprof_reading_checked(r, e);
	if (m->is_folded)
		r->p->locations[index].is_folded = true;
	return pprof_add_id(r, &r->locations, m->id, index, "location");
}

/* The id of a mapping, a function or a location: of each the first field. */
static uint64_t id_of(const struct wire_field *thing)
{
	struct wire w = thing->bytes;
	struct wire_field f;
	uint64_t id = 0;

	while (wire_next(&w, &f))
		if (f.number == 1)
			id = f.value;
	return id;
}

/* Tells of the second one of the things in field @number that have this id. */
static int refuse_duplicate(struct pprof_reading *r, uint32_t number, uint64_t id, const char *what)
{
	struct wire w = r->data;
	struct wire_field f;
	size_t offset = 0;
	unsigned n = 0;

	PPROF_REFUSE(r, "two %ss have id %" PRIu64, what, id);
	while (n < 2) {
		offset = (size_t)(w.at - r->data.at);
		if (!wire_next(&w, &f))
			return PPROF_E_MALFORMED;
		n += f.number == number && id_of(&f) == id;
	}
	return pprof_report_place(r, offset);
}

static int pprof_seal_ids(struct pprof_reading *r, struct pprof_ids *ids, uint32_t number,
			  const char *what)
{
	uint64_t duplicate;
	int e;

	e = pprof_ids_seal(ids, &duplicate);
	if (e)
		return e;
	return duplicate ? refuse_duplicate(r, number, duplicate, what) : 0;
}

static int end_strings(struct pprof_reading *r)
{
	if (!r->n_strings)
		return PPROF_REFUSE(r, "not a profile.proto: it has no string table");
	return 0;
}

static int end_tables(struct pprof_reading *r)
{
	int e = pprof_seal_ids(r, &r->mappings, F_MAPPING, "mapping");

	return e ? e : pprof_seal_ids(r, &r->functions, F_FUNCTION, "function");
}

static int end_locations(struct pprof_reading *r)
{
	return pprof_seal_ids(r, &r->locations, F_LOCATION, "location");
}

static int end_samples(struct pprof_reading *r)
{
	(void)r;
	return 0;
}

static const struct {
	int (*visit)(struct pprof_reading *r, const struct wire_field *f);
	int (*end)(struct pprof_reading *r);
} walks[] = {
	{pass_strings, end_strings},
	{pass_tables, end_tables},
	{pass_locations, end_locations},
	{pprof_reading_sample, end_samples},
};

/* Goes on with the walk in work for at most @max_fields; *ret_n: how many it was. */
static int pprof_continue_walk(struct pprof_reading *r, size_t max_fields, size_t *ret_n)
{
	struct wire_field f;
	size_t n = 0;
	int e;

	for (; r->at.at < r->at.end && n < max_fields; n++) {
		size_t offset = (size_t)(r->at.at - r->data.at);

		if (!wire_next(&r->at, &f))
			return PPROF_REFUSE(r, "not a profile.proto: no field at byte %zu", offset);
		e = walks[r->walk].visit(r, &f);
		if (e)
			return e == PPROF_E_MALFORMED ? pprof_report_place(r, offset) : e;
	}
	*ret_n = n;
	return 0;
}

int pprof_reading_step(struct pprof_reading *r, size_t max_fields, bool *ret_done)
{
	size_t n = 0;
	int e;

	e = r->p ? 0 : profile_new(&r->p);
	if (e)
		return e;
	if (!r->at.at)
		r->at = r->data;
	for (; r->walk < ARRAY_SIZE(walks); max_fields -= n) {
		e = pprof_continue_walk(r, max_fields, &n);
		if (!e && r->at.at < r->at.end) {
			*ret_done = false;
			return 0;
		}
		if (!e)
			e = walks[r->walk].end(r);
		if (e)
			return e;
		r->walk++;
		r->at = r->data;
	}
	*ret_done = true;
	return 0;
}

int pprof_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	       struct profile_message *message)
{
	cleanup(freep) uint8_t *unpacked = NULL;
	cleanup(pprof_reading_deinit) struct pprof_reading r = {.message = message};
	size_t offset;
	bool done;
	int e;

	if (gunzip_is_gzip(data, length)) {
		e = gunzip_buffer(data, length, max_bytes, &unpacked, &length, &offset);
		if (e == GUNZIP_E_MALFORMED)
			return PPROF_REFUSE(&r, "broken gzip data at byte %zu", offset);
		if (e < 0)
			return e;
		data = unpacked;
	} else {
		e = length > max_bytes ? GUNZIP_E_TOO_BIG : GUNZIP_E_OK;
	}
	if (e == GUNZIP_E_TOO_BIG)
		return profile_refuse(message, PPROF_E_TOO_BIG, "unpacks to more than %zu bytes",
				      max_bytes);
	if (!length)
		return PPROF_REFUSE(&r, "the profile is empty");
	r.data = (struct wire){.at = data, .end = data + length};
	e = pprof_reading_step(&r, SIZE_MAX, &done);
	if (e)
		return e;
	*ret = steal_ptr(&r.p);
	return PPROF_E_OK;
}
