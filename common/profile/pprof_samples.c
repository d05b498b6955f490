/* SPDX-License-Identifier: MIT */
/*
 * Samples are nearly all of a file: they are decoded here, straight into the profile's arrays,
 * packed and unpacked repeated fields alike, each id translated once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/profile/pprof_read_private.h"
#include "common/room.h"

static int read_sample_location(struct pprof_reading *r, uint64_t id)
{
	uint32_t index = pprof_ids_find(&r->locations, id);
	int e;

	if (index == PROFILE_NONE)
		return PPROF_REFUSE(r,
				    "sample %" PRIu64 " names location %" PRIu64
				    ", which does not exist",
				    r->n_samples, id);
	if (r->n_sample_locations == r->max_sample_locations) {
		e = pprof_reading_grow(&r->sample_locations, &r->max_sample_locations);
		if (e)
			return e;
	}
	r->sample_locations[r->n_sample_locations++] = index;
	return 0;
}

static int read_sample_value(struct pprof_reading *r, uint64_t value)
{
	if (r->n_values < PROFILE_TYPES_MAX)
		r->values[r->n_values] = (int64_t)value;
	r->n_values++;
	return 0;
}

static int read_label(struct pprof_reading *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	struct profile_label *l;
	struct wire_field n;
	int e = 0;

	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "a label of sample %" PRIu64 " is not a message",
				    r->n_samples);
	if (room_make(&r->labels, &r->max_labels, r->n_labels + 1, sizeof(*r->labels)))
		return -ENOMEM;
	l = &r->labels[r->n_labels++];
	*l = (struct profile_label){0};
	while (w.at < w.end && !e) {
		if (!wire_next(&w, &n) || (n.number <= 4 && n.type != WIRE_VARINT))
			return PPROF_REFUSE(r, "a label of sample %" PRIu64 " cannot be decoded",
					    r->n_samples);
		if (n.number == 1)
			e = pprof_reading_string(r, (int64_t)n.value, &l->key);
		else if (n.number == 2)
			e = pprof_reading_string(r, (int64_t)n.value, &l->str);
		else if (n.number == 3)
			l->num = (int64_t)n.value;
		else if (n.number == 4)
			e = pprof_reading_string(r, (int64_t)n.value, &l->num_unit);
	}
	return e;
}

/* A repeated number, packed or not. */
static int pprof_read_numbers(struct pprof_reading *r, const struct wire_field *f,
			      int (*take)(struct pprof_reading *r, uint64_t number))
{
	struct wire w = f->bytes;
	uint64_t number;
	int e;

	if (f->type == WIRE_VARINT)
		return take(r, f->value);
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "sample %" PRIu64 " cannot be decoded", r->n_samples);
	while (w.at < w.end) {
		if (!wire_varint(&w, &number))
			return PPROF_REFUSE(r, "sample %" PRIu64 " ends in the middle of a number",
					    r->n_samples);
		e = take(r, number);
		if (e)
			return e;
	}
	return 0;
}

int pprof_reading_sample(struct pprof_reading *r, const struct wire_field *f)
{
	struct wire w = f->bytes;
	struct wire_field n;
	int e = 0;

	if (f->number != PPROF_F_SAMPLE)
		return 0;
	if (f->type != WIRE_BYTES)
		return PPROF_REFUSE(r, "sample %" PRIu64 " is not a message", r->n_samples);
	r->n_sample_locations = r->n_labels = r->n_values = 0;
	while (w.at < w.end && !e) {
		if (!wire_next(&w, &n))
			return PPROF_REFUSE(r, "sample %" PRIu64 " cannot be decoded",
					    r->n_samples);
		if (n.number == 1)
			e = pprof_read_numbers(r, &n, read_sample_location);
		else if (n.number == 2)
			e = pprof_read_numbers(r, &n, read_sample_value);
		else if (n.number == 3)
			e = read_label(r, &n);
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
		return pprof_reading_checked(r, -E2BIG);
	return pprof_reading_checked(
		r, profile_append_sample(r->p, r->sample_locations, (uint32_t)r->n_sample_locations,
					 r->values, r->labels, (uint32_t)r->n_labels));
}
