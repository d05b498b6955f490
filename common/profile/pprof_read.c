/* SPDX-License-Identifier: MIT */
/*
 * The reader holds the unpacked message and walks over its top-level fields four times, because
 * each kind of thing refers to others that may come later: strings, then what refers to strings
 * only, then locations, then samples. Skipping a field costs some nanoseconds.
 *
 * protobuf-c unpacks the small submessages. It does not unpack the whole: a million samples would
 * be some ten million allocations and three gigabytes. For the same reason samples, nearly all
 * of a file, are decoded here, straight into the profile's arrays: packed and unpacked repeated
 * fields alike, each id translated once. Submessages that protobuf-c sees are limited in size,
 * because it takes up to forty times a message's bytes in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/gunzip.h"
#include "common/profile/message.h"
#include "common/profile/pprof.h"
#include "common/profile/pprof_ids.h"
#include "common/profile/pprof_wire.h"
#include "common/profile/profile.h"
#include "profile.pb-c.h"

#define SUBMESSAGE_MAX ((size_t)1 << 20)

/* Field numbers of Profile, see common/profile.proto. */
enum {
	F_SAMPLE_TYPE = 1,
	F_SAMPLE = 2,
	F_MAPPING = 3,
	F_LOCATION = 4,
	F_FUNCTION = 5,
	F_STRING_TABLE = 6,
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

struct reader {
	struct profile *p;
	struct profile_message *message;
	struct wire data;
	uint32_t *strings; /* number in the file to number in the profile */
	size_t n_strings, max_strings;
	struct pprof_ids mappings, functions, locations;
	uint64_t n_time_nanos;
	/* The sample being read. */
	uint64_t n_samples;
	uint32_t *sample_locations;
	size_t n_sample_locations, max_sample_locations;
	struct profile_label *labels;
	size_t n_labels, max_labels;
	int64_t values[PROFILE_TYPES_MAX];
	size_t n_values;
};

static void reader_deinit(struct reader *r)
{
	profile_free(r->p);
	free(r->strings);
	pprof_ids_deinit(&r->mappings);
	pprof_ids_deinit(&r->functions);
	pprof_ids_deinit(&r->locations);
	free(r->sample_locations);
	free(r->labels);
}

#define REFUSE(r, ...) profile_refuse((r)->message, PPROF_E_MALFORMED, __VA_ARGS__)

/* What cannot be represented is the file's fault, not ours. */
static int checked(struct reader *r, int error)
{
	if (error == -E2BIG)
		return profile_refuse(r->message, PPROF_E_TOO_BIG,
				      "more entries of a kind than can be numbered");
	return error;
}

static int string_of(struct reader *r, int64_t number, uint32_t *ret)
{
	if (number < 0 || (uint64_t)number >= r->n_strings)
		return REFUSE(r, "string number %" PRId64 " is not among the %zu of the table",
			      number, r->n_strings);
	*ret = r->strings[number];
	return 0;
}

static int grow_u32(uint32_t **array, size_t *max)
{
	size_t wanted = *max ? *max * 2 : 64;
	uint32_t *grown = reallocarray(*array, wanted, sizeof(*grown));

	if (!grown)
		return error_origin(-ENOMEM);
	*array = grown;
	*max = wanted;
	return 0;
}

static int read_string(struct reader *r, const struct wire_field *f)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at);
	int e;

	if (f->type != WIRE_BYTES)
		return REFUSE(r, "string %zu of the table is not a text", r->n_strings);
	if (!r->n_strings && length)
		return REFUSE(r, "the first string of the table is not empty");
	if (length && memchr(f->bytes.at, '\0', length))
		return REFUSE(r, "string %zu of the table holds a NUL byte", r->n_strings);
	if (r->n_strings == r->max_strings) {
		e = grow_u32(&r->strings, &r->max_strings);
		if (e)
			return e;
	}
	e = profile_add_string(r->p, (const char *)f->bytes.at, length, &r->strings[r->n_strings]);
	if (e)
		return checked(r, e);
	r->n_strings++;
	return 0;
}

static int pass_strings(struct reader *r, const struct wire_field *f)
{
	if (f->number == F_STRING_TABLE)
		return read_string(r, f);
	if (f->number == F_TIME_NANOS && ++r->n_time_nanos > 1)
		return REFUSE(r, "more than one start time: several profiles in one file");
	return 0;
}

/* protobuf-c's unpacked submessage of field @f in *ret, to be freed by protobuf-c. */
static int unpack(struct reader *r, const struct wire_field *f,
		  const ProtobufCMessageDescriptor *descriptor, ProtobufCMessage **ret)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at);

	if (f->type != WIRE_BYTES || length > SUBMESSAGE_MAX)
		return REFUSE(r, "a %s is %s", descriptor->short_name,
			      f->type != WIRE_BYTES ? "not a message" : "longer than 1 MiB");
	*ret = protobuf_c_message_unpack(descriptor, NULL, length, f->bytes.at);
	if (!*ret)
		return REFUSE(r, "a %s cannot be decoded", descriptor->short_name);
	return 0;
}

static void message_freep(ProtobufCMessage **message)
{
	if (*message)
		protobuf_c_message_free_unpacked(*message, NULL);
}

static int read_value_type(struct reader *r, const struct wire_field *f,
			   struct profile_value_type *ret)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__ValueType *t;
	int e;

	e = unpack(r, f, &perftools__profiles__value_type__descriptor, &message);
	if (e)
		return e;
	t = (const Perftools__Profiles__ValueType *)message;
	e = string_of(r, t->type, &ret->type);
	return e ? e : string_of(r, t->unit, &ret->unit);
}

static int read_sample_type(struct reader *r, const struct wire_field *f)
{
	if (r->p->n_sample_types == PROFILE_TYPES_MAX)
		return REFUSE(r, "more than %d sample types", PROFILE_TYPES_MAX);
	return read_value_type(r, f, &r->p->sample_types[r->p->n_sample_types++]);
}

/* Books @id, which must be nonzero, for @index. */
static int book_id(struct reader *r, struct pprof_ids *ids, uint64_t id, uint32_t index,
		   const char *what)
{
	if (!id)
		return REFUSE(r, "a %s has id 0", what);
	return pprof_ids_add(ids, id, index);
}

static int read_mapping(struct reader *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__Mapping *m;
	struct profile_mapping mapping;
	uint32_t index;
	int e;

	e = unpack(r, f, &perftools__profiles__mapping__descriptor, &message);
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
	e = string_of(r, m->filename, &mapping.path);
	if (e)
		return e;
	e = string_of(r, m->build_id, &mapping.build_id);
	if (e)
		return e;
	e = profile_add_mapping(r->p, &mapping, &index);
	return e ? checked(r, e) : book_id(r, &r->mappings, m->id, index, "mapping");
}

static int read_function(struct reader *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	const Perftools__Profiles__Function *m;
	struct profile_function function;
	uint32_t index;
	int e;

	e = unpack(r, f, &perftools__profiles__function__descriptor, &message);
	if (e)
		return e;
	m = (const Perftools__Profiles__Function *)message;
	function.start_line = m->start_line;
	e = string_of(r, m->name, &function.name);
	if (e)
		return e;
	e = string_of(r, m->system_name, &function.system_name);
	if (e)
		return e;
	e = string_of(r, m->filename, &function.filename);
	if (e)
		return e;
	e = profile_add_function(r->p, &function, &index);
	return e ? checked(r, e) : book_id(r, &r->functions, m->id, index, "function");
}

static int read_comment(struct reader *r, uint64_t number)
{
	uint32_t string = 0;
	int e;

	e = string_of(r, (int64_t)number, &string);
	if (e)
		return e;
	return checked(r, profile_add_comment(r->p, profile_string(r->p, string)));
}

static int read_comments(struct reader *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return read_comment(r, f->value);
	if (f->type != WIRE_BYTES)
		return REFUSE(r, "a comment is not a number");
	while (w.at < w.end) {
		if (!wire_varint(&w, &number))
			return REFUSE(r, "the comments end in the middle of a number");
		e = read_comment(r, number);
		if (e)
			return e;
	}
	return 0;
}

static int read_scalar(struct reader *r, const struct wire_field *f)
{
	int64_t value = (int64_t)f->value;

	if (f->type != WIRE_VARINT)
		return REFUSE(r, "field %" PRIu32 " is not a number", f->number);
	switch (f->number) {
	case F_DROP_FRAMES:
		return string_of(r, value, &r->p->drop_frames);
	case F_KEEP_FRAMES:
		return string_of(r, value, &r->p->keep_frames);
	case F_DEFAULT_SAMPLE_TYPE:
		return string_of(r, value, &r->p->default_sample_type);
	case F_DOC_URL:
		return string_of(r, value, &r->p->doc_url);
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
static int pass_tables(struct reader *r, const struct wire_field *f)
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

static int pass_locations(struct reader *r, const struct wire_field *f)
{
	cleanup(message_freep) ProtobufCMessage *message = NULL;
	cleanup(freep) struct profile_line *lines = NULL;
	const Perftools__Profiles__Location *m;
	uint32_t index;
	int e;

	if (f->number != F_LOCATION)
		return 0;
	e = unpack(r, f, &perftools__profiles__location__descriptor, &message);
	if (e)
		return e;
	m = (const Perftools__Profiles__Location *)message;
	lines = calloc(m->n_line ? m->n_line : 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < m->n_line; i++) {
		lines[i].function = pprof_ids_find(&r->functions, m->line[i]->function_id);
		lines[i].line = m->line[i]->line;
		if (lines[i].function == PROFILE_NONE)
			return REFUSE(r,
				      "location %" PRIu64 " names function %" PRIu64
				      ", which does not exist",
				      m->id, m->line[i]->function_id);
	}
	/* A mapping that does not exist is none: go tool pprof reads such files. */
	e = profile_add_location(r->p, pprof_ids_find(&r->mappings, m->mapping_id), m->address,
				 lines, (uint32_t)m->n_line, &index);
	if (e)
		return checked(r, e);
	if (m->is_folded)
		r->p->locations[index].is_folded = true;
	return book_id(r, &r->locations, m->id, index, "location");
}

static int read_sample_location(struct reader *r, uint64_t id)
{
	uint32_t index = pprof_ids_find(&r->locations, id);
	int e;

	if (index == PROFILE_NONE)
		return REFUSE(r,
			      "sample %" PRIu64 " names location %" PRIu64 ", which does not exist",
			      r->n_samples, id);
	if (r->n_sample_locations == r->max_sample_locations) {
		e = grow_u32(&r->sample_locations, &r->max_sample_locations);
		if (e)
			return e;
	}
	r->sample_locations[r->n_sample_locations++] = index;
	return 0;
}

static int read_sample_value(struct reader *r, uint64_t value)
{
	if (r->n_values < PROFILE_TYPES_MAX)
		r->values[r->n_values] = (int64_t)value;
	r->n_values++;
	return 0;
}

static int read_label(struct reader *r, const struct wire_field *f)
{
	size_t max = r->max_labels ? r->max_labels * 2 : 8;
	struct wire w = f->bytes;
	struct profile_label *grown, *l;
	struct wire_field n;
	int e = 0;

	if (f->type != WIRE_BYTES)
		return REFUSE(r, "a label of sample %" PRIu64 " is not a message", r->n_samples);
	if (r->n_labels == r->max_labels) {
		grown = reallocarray(r->labels, max, sizeof(*grown));
		if (!grown)
			return error_origin(-ENOMEM);
		r->labels = grown;
		r->max_labels = max;
	}
	l = &r->labels[r->n_labels++];
	*l = (struct profile_label){0};
	while (w.at < w.end && !e) {
		if (!wire_next(&w, &n) || (n.number <= 4 && n.type != WIRE_VARINT))
			return REFUSE(r, "a label of sample %" PRIu64 " cannot be decoded",
				      r->n_samples);
		if (n.number == 1)
			e = string_of(r, (int64_t)n.value, &l->key);
		else if (n.number == 2)
			e = string_of(r, (int64_t)n.value, &l->str);
		else if (n.number == 3)
			l->num = (int64_t)n.value;
		else if (n.number == 4)
			e = string_of(r, (int64_t)n.value, &l->num_unit);
	}
	return e;
}

/* A repeated number, packed or not. */
static int read_numbers(struct reader *r, const struct wire_field *f,
			int (*take)(struct reader *r, uint64_t number))
{
	struct wire w = f->bytes;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return take(r, f->value);
	if (f->type != WIRE_BYTES)
		return REFUSE(r, "sample %" PRIu64 " cannot be decoded", r->n_samples);
	while (w.at < w.end) {
		if (!wire_varint(&w, &number))
			return REFUSE(r, "sample %" PRIu64 " ends in the middle of a number",
				      r->n_samples);
		e = take(r, number);
		if (e)
			return e;
	}
	return 0;
}

static int pass_samples(struct reader *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	struct wire_field n;
	int e = 0;

	if (f->number != F_SAMPLE)
		return 0;
	if (f->type != WIRE_BYTES)
		return REFUSE(r, "sample %" PRIu64 " is not a message", r->n_samples);
	r->n_sample_locations = r->n_labels = r->n_values = 0;
	while (w.at < w.end && !e) {
		if (!wire_next(&w, &n))
			return REFUSE(r, "sample %" PRIu64 " cannot be decoded", r->n_samples);
		if (n.number == 1)
			e = read_numbers(r, &n, read_sample_location);
		else if (n.number == 2)
			e = read_numbers(r, &n, read_sample_value);
		else if (n.number == 3)
			e = read_label(r, &n);
	}
	if (e)
		return e;
	if (r->n_values != r->p->n_sample_types)
		return REFUSE(r, "sample %" PRIu64 " has %zu values for %" PRIu32 " sample types",
			      r->n_samples, r->n_values, r->p->n_sample_types);
	r->n_samples++;
	if (r->n_sample_locations >= PROFILE_NONE || r->n_labels >= PROFILE_NONE)
		return checked(r, -E2BIG);
	return checked(r, profile_add_sample(r->p, r->sample_locations,
					     (uint32_t)r->n_sample_locations, r->values, r->labels,
					     (uint32_t)r->n_labels));
}

static int walk(struct reader *r, int (*visit)(struct reader *r, const struct wire_field *f))
{
	struct wire w = r->data;
	struct wire_field f;
	int e;

	while (w.at < w.end) {
		size_t offset = (size_t)(w.at - r->data.at);

		if (!wire_next(&w, &f))
			return REFUSE(r, "not a profile.proto: no field at byte %zu", offset);
		e = visit(r, &f);
		if (e)
			return e;
	}
	return 0;
}

static int seal(struct reader *r, struct pprof_ids *ids, const char *what)
{
	uint64_t duplicate;
	int e;

	e = pprof_ids_seal(ids, &duplicate);
	if (e)
		return e;
	if (duplicate)
		return REFUSE(r, "two %ss have id %" PRIu64, what, duplicate);
	return 0;
}

static int read_message(struct reader *r)
{
	int e;

	e = profile_new(&r->p);
	if (e)
		return e;
	e = walk(r, pass_strings);
	if (e)
		return e;
	if (!r->n_strings)
		return REFUSE(r, "not a profile.proto: it has no string table");
	e = walk(r, pass_tables);
	if (e)
		return e;
	e = seal(r, &r->mappings, "mapping");
	if (e)
		return e;
	e = seal(r, &r->functions, "function");
	if (e)
		return e;
	e = walk(r, pass_locations);
	if (e)
		return e;
	e = seal(r, &r->locations, "location");
	if (e)
		return e;
	return walk(r, pass_samples);
}

int pprof_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	       struct profile_message *message)
{
	cleanup(freep) uint8_t *unpacked = NULL;
	cleanup(reader_deinit) struct reader r = {.message = message};
	size_t offset;
	int e;

	if (gunzip_is_gzip(data, length)) {
		e = gunzip(data, length, max_bytes, &unpacked, &length, &offset);
		if (e == GUNZIP_E_MALFORMED)
			return REFUSE(&r, "broken gzip data at byte %zu", offset);
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
		return REFUSE(&r, "the profile is empty");
	r.data = (struct wire){.at = data, .end = data + length};
	e = read_message(&r);
	if (e)
		return e;
	*ret = steal_ptr(&r.p);
	return PPROF_E_OK;
}
