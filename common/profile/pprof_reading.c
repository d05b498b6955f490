/* SPDX-License-Identifier: MIT */
/*
 * Samples are nearly all of a file: they are decoded straight into the profile's arrays, packed and
 * unpacked repeated fields alike, each id translated once. Everything else is a message of numbers,
 * or one of them.
 */
#include "common/profile/pprof_reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/room.h"

int profile_refuse(struct profile_message *message, int outcome, const char *format, ...)
{
	va_list arguments;

	if (message) {
		va_start(arguments, format);
		vsnprintf(message->text, sizeof(message->text), format, arguments);
		va_end(arguments);
	}
	return outcome;
}

void pprof_ids_deinit(struct pprof_ids *ids)
{
	free(ids->dense);
	free(ids->others);
	intern_deinit(&ids->others_in);
	*ids = (struct pprof_ids){0};
}

/* The index of @id, or PROFILE_NONE. */
static uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	uint32_t at;

	if (id - 1 < ids->n_dense)
		return ids->dense[id - 1];
	at = intern_find(&ids->others_in, ids->others, &id, sizeof(*ids->others), sizeof(id));
	return at == PROFILE_NONE ? PROFILE_NONE : ids->others[at].index;
}

enum { PPROF_IDS_E_OK, PPROF_IDS_E_DUPLICATE };

/* @id is not 0. Returns PPROF_IDS_E_*, -ENOMEM or -E2BIG. */
static int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t index)
{
	const struct pprof_id new = {.id = id, .index = index};
	uint32_t at;

	if (pprof_ids_find(ids, id) != PROFILE_NONE)
		return PPROF_IDS_E_DUPLICATE;
	if (id == ids->n_dense + 1)
		return room_append(&ids->dense, &ids->max_dense, &ids->n_dense, index);
	return intern_add(&ids->others_in, &ids->others, &new, sizeof(new), sizeof(id), &at);
}

void pprof_reading_deinit(struct pprof_reading *r)
{
	profile_free(r->p);
	free(r->strings);
	pprof_ids_deinit(&r->mappings);
	pprof_ids_deinit(&r->functions);
	pprof_ids_deinit(&r->locations);
	free(r->sample_locations);
	free(r->labels);
	free(r->lines);
	times_reading_deinit(&r->times);
}

int pprof_reading_place(struct pprof_reading *r, uint64_t offset)
{
	struct profile_message what;

	if (!r->message)
		return PPROF_E_MALFORMED;
	what = *r->message;
	return PPROF_REFUSE(r, "%.150s, at byte %" PRIu64, what.text, offset);
}

/* What struct profile returned. */
static int pprof_added(struct pprof_reading *r, int error)
{
	if (error == -E2BIG)
		return profile_refuse(r->message, PPROF_E_TOO_BIG,
				      "more entries of a kind than can be numbered");
	return error;
}

int pprof_reading_string(struct pprof_reading *r, const struct wire_field *f)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at);
	uint32_t string = 0;
	int e;

	if (f->number != PPROF_STRING)
		return 0;
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "string %zu of the table is not a text", r->n_strings);
	if (!r->n_strings && length)
		return PPROF_REFUSE(r, "the first string of the table is not empty");
	e = profile_add_string(r->p, (const char *)f->bytes.at, length, &string);
	return e ? pprof_added(r, e)
		 : room_append(&r->strings, &r->max_strings, &r->n_strings, string);
}

/* The @n strings with these numbers. */
static int pprof_find_strings(struct pprof_reading *r, const uint64_t *numbers, size_t n,
			      uint32_t *const ret[])
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] >= r->n_strings)
			return PPROF_REFUSE(r,
					    "string number %" PRId64
					    " is not among the %zu of the table",
					    (int64_t)numbers[i], r->n_strings);
		*ret[i] = r->strings[numbers[i]];
	}
	return 0;
}

static int pprof_find_string(struct pprof_reading *r, uint64_t number, uint32_t *ret)
{
	return pprof_find_strings(r, &number, 1, &ret);
}

static int pprof_read_numbers(struct pprof_reading *r, const struct wire_field *f, const char *what,
			      uint64_t *ret, size_t n)
{
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "a %s is not a message", what);
	return wire_read_numbers(f->bytes, ret, n)
		       ? 0
		       : PPROF_REFUSE(r, "a %s cannot be decoded", what);
}

static int read_value_type(struct pprof_reading *r, const struct wire_field *f,
			   struct profile_value_type *ret)
{
	uint64_t numbers[2];

	return pprof_read_numbers(r, f, "ValueType", numbers, ARRAY_SIZE(numbers))
		       ?: pprof_find_strings(r, numbers, 2, (uint32_t *[]){&ret->type, &ret->unit});
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
	int e;

	if (!id)
		return PPROF_REFUSE(r, "a %s has id 0", what);
	e = pprof_ids_add(ids, id, index);
	if (e == PPROF_IDS_E_DUPLICATE)
		return PPROF_REFUSE(r, "two %ss have id %" PRIu64, what, id);
	return pprof_added(r, e);
}

static int read_mapping(struct pprof_reading *r, const struct wire_field *f)
{
	struct profile_mapping mapping;
	uint64_t m[10];
	uint32_t index;
	int e = pprof_read_numbers(r, f, "Mapping", m, ARRAY_SIZE(m));

	if (e)
		return e;
	mapping = (struct profile_mapping){.start = m[1],
					   .limit = m[2],
					   .offset = m[3],
					   .has_functions = m[6],
					   .has_filenames = m[7],
					   .has_line_numbers = m[8],
					   .has_inline_frames = m[9]};
	e = pprof_find_strings(r, &m[4], 2, (uint32_t *[]){&mapping.path, &mapping.build_id});
	if (e)
		return e;
	e = profile_add_mapping(r->p, &mapping, &index);
	return e ? pprof_added(r, e) : pprof_add_id(r, &r->mappings, m[0], index, "mapping");
}

static int read_function(struct pprof_reading *r, const struct wire_field *f)
{
	struct profile_function function;
	uint64_t m[5];
	uint32_t index;
	int e = pprof_read_numbers(r, f, "Function", m, ARRAY_SIZE(m));

	if (e)
		return e;
	function.start_line = (int64_t)m[4];
	e = pprof_find_strings(r, &m[1], 3,
			       (uint32_t *[]){&function.name, &function.system_name,
					      &function.filename});
	if (e)
		return e;
	e = profile_add_function(r->p, &function, &index);
	return e ? pprof_added(r, e) : pprof_add_id(r, &r->functions, m[0], index, "function");
}

/*
 * A repeated number, packed or not; @what: of which thing. In line, so that nothing is called for
 * each of millions of numbers.
 */
static inline __attribute__((always_inline)) int
pprof_read_list(struct pprof_reading *r, const struct wire_field *f, const char *what,
		uint64_t which, int (*add)(struct pprof_reading *r, uint64_t number))
{
	struct wire w = f->bytes;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return add(r, f->value);
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "%s %" PRIu64 " cannot be decoded", what, which);
	while (w.at < w.end) {
		if (!wire_varint(&w, &number))
			return PPROF_REFUSE(r, "%s %" PRIu64 " ends in the middle of a number",
					    what, which);
		e = add(r, number);
		if (e)
			return e;
	}
	return 0;
}

static int add_comment(struct pprof_reading *r, uint64_t number)
{
	uint32_t string = 0;

	return pprof_find_string(r, number, &string)
		       ?: pprof_added(r, profile_add_comment(r->p, profile_string(r->p, string)));
}

/* Fields of the profile itself. */
static int read_number(struct pprof_reading *r, const struct wire_field *f)
{
	struct profile *p = r->p;
	uint32_t *const strings[16] = {
		[7] = &p->drop_frames,
		[8] = &p->keep_frames,
		[14] = &p->default_sample_type,
		[15] = &p->doc_url,
	};
	int64_t *const numbers[16] = {
		[PPROF_TIME] = &p->time_ns, [10] = &p->duration_ns, [12] = &p->period};

	if (f->number >= ARRAY_SIZE(numbers) || (!strings[f->number] && !numbers[f->number]))
		return 0;
	if (f->type != WIRE_VARINT)
		return PPROF_REFUSE(r, "field %" PRIu32 " is not a number", f->number);
	if (f->number == PPROF_TIME && ++r->n_time_nanos > 1)
		return PPROF_REFUSE(r, "more than one start time: several profiles in one file");
	if (strings[f->number])
		return pprof_find_string(r, f->value, strings[f->number]);
	*numbers[f->number] = (int64_t)f->value;
	return 0;
}

int pprof_reading_table(struct pprof_reading *r, const struct wire_field *f)
{
	switch (f->number) {
	case PPROF_SAMPLE_TYPE:
		return read_sample_type(r, f);
	case PPROF_MAPPING:
		return read_mapping(r, f);
	case PPROF_FUNCTION:
		return read_function(r, f);
	case 11:
		return read_value_type(r, f, &r->p->period_type);
	case 13:
		return pprof_read_list(r, f, "comment", r->p->n_comments, add_comment);
	default:
		return read_number(r, f);
	}
}

static int add_line(struct pprof_reading *r, const struct wire_field *f, size_t n, uint64_t id)
{
	uint64_t numbers[3];
	int e = pprof_read_numbers(r, f, "Line", numbers, ARRAY_SIZE(numbers))
			?: room_make(&r->lines, &r->max_lines, n + 1, sizeof(*r->lines));

	if (e)
		return e;
	r->lines[n] = (struct profile_line){
		.function = pprof_ids_find(&r->functions, numbers[0]),
		.line = (int64_t)numbers[1],
		/* No line is longer: that is damage, and no reason to refuse the file. */
		.column = (int64_t)numbers[2] == (int32_t)numbers[2] ? (int32_t)numbers[2] : 0,
	};
	if (r->lines[n].function == PROFILE_NONE)
		return PPROF_REFUSE(r,
				    "location %" PRIu64 " names function %" PRIu64
				    ", which does not exist",
				    id, numbers[0]);
	return 0;
}

int pprof_reading_location(struct pprof_reading *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	struct wire_field field;
	uint64_t m[3];
	bool is_folded = false;
	uint32_t index;
	size_t n = 0;
	int e;

	if (f->number != PPROF_LOCATION)
		return 0;
	e = pprof_read_numbers(r, f, "Location", m, ARRAY_SIZE(m));
	while (!e && wire_next(&w, &field)) {
		if (field.number == 4)
			e = add_line(r, &field, n++, m[0]);
		else if (field.number == 5)
			is_folded = field.value;
	}
	if (e)
		return e;
	if (n >= PROFILE_NONE)
		return pprof_added(r, -E2BIG);
	/* A mapping that does not exist is none: go tool pprof reads such files. */
	e = profile_add_location(r->p, pprof_ids_find(&r->mappings, m[1]), m[2], r->lines,
				 (uint32_t)n, &index);
	if (e)
		return pprof_added(r, e);
	r->p->locations[index].is_folded |= is_folded;
	return pprof_add_id(r, &r->locations, m[0], index, "location");
}

/* There is room for it. */
static int add_sample_location(struct pprof_reading *r, uint64_t id)
{
	uint32_t index = pprof_ids_find(&r->locations, id);

	if (index == PROFILE_NONE)
		return PPROF_REFUSE(r,
				    "sample %" PRIu64 " names location %" PRIu64
				    ", which does not exist",
				    r->n_samples, id);
	r->sample_locations[r->n_sample_locations++] = index;
	return 0;
}

static int add_sample_value(struct pprof_reading *r, uint64_t value)
{
	if (r->n_values < PROFILE_TYPES_MAX)
		r->values[r->n_values] = (int64_t)value;
	r->n_values++;
	return 0;
}

static int add_label(struct pprof_reading *r, const struct wire_field *f)
{
	struct profile_label l = {0};
	uint64_t numbers[4];

	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "a label of sample %" PRIu64 " is not a message",
				    r->n_samples);
	if (!wire_read_numbers(f->bytes, numbers, ARRAY_SIZE(numbers)))
		return PPROF_REFUSE(r, "a label of sample %" PRIu64 " cannot be decoded",
				    r->n_samples);
	l.num = (int64_t)numbers[2];
	return pprof_find_strings(r, numbers, 2, (uint32_t *[]){&l.key, &l.str}) ?:
	       pprof_find_string(r, numbers[3], &l.num_unit) ?:
	       room_append(&r->labels, &r->max_labels, &r->n_labels, l);
}

int pprof_reading_sample(struct pprof_reading *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	struct wire_field field;
	int e = 0;

	if (f->number == PPROF_TIMES)
		return r->ignores_times ? 0 : times_reading_begin(&r->times, r->p, f);
	if (f->number != PPROF_SAMPLE)
		return 0;
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "sample %" PRIu64 " is not a message", r->n_samples);
	r->n_sample_locations = r->n_labels = r->n_values = 0;
	while (w.at < w.end && !e) {
		if (!wire_next(&w, &field))
			return PPROF_REFUSE(r, "sample %" PRIu64 " cannot be decoded",
					    r->n_samples);
		/* No number has less than a byte. */
		if (field.number == 1)
			e = room_make(&r->sample_locations, &r->max_sample_locations,
				      r->n_sample_locations + 1 +
					      (size_t)(field.bytes.end - field.bytes.at),
				      sizeof(*r->sample_locations))
				    ?: pprof_read_list(r, &field, "sample", r->n_samples,
						       add_sample_location);
		else if (field.number == 2)
			e = pprof_read_list(r, &field, "sample", r->n_samples, add_sample_value);
		else if (field.number == 3)
			e = add_label(r, &field);
	}
	if (e)
		return e;
	if (r->n_values != r->p->n_sample_types)
		return PPROF_REFUSE(r,
				    "sample %" PRIu64 " has %zu values for %" PRIu32
				    " sample types",
				    r->n_samples, r->n_values, r->p->n_sample_types);
	r->n_samples++;
	if (r->n_sample_locations >= PROFILE_NONE || r->n_labels >= PROFILE_NONE)
		return pprof_added(r, -E2BIG);
	e = profile_append_sample(r->p, r->sample_locations, (uint32_t)r->n_sample_locations,
				  r->values, r->labels, (uint32_t)r->n_labels);
	return pprof_added(r, e ? e : times_reading_sample(&r->times, r->p));
}
