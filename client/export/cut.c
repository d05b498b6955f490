/* SPDX-License-Identifier: MIT */
/*
 * Bytes are counted as the writer (common/profile/pprof.h) makes them, or more: a part numbers its
 * things anew, never higher than they are here, and equal things of it are one. What a part has
 * already is marked with its number, so that nothing is forgotten between parts.
 */
#include "client/export/cut.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"

#define VARINT_MAX   10u
#define HEADER_BYTES 6u      /* of a message or a text: its field, and a length of 32 bits */
#define PART_BYTES   0x4000u /* types of values and what else a file has once */

static uint64_t cut_by_number(uint64_t value)
{
	return value ? 1 + (uint64_t)(70 - __builtin_clzll(value)) / 7 : 1;
}

/* Whether the part has it from now on; it costs nothing a second time. */
static bool cut_is_new(const struct export_cut *c, uint32_t *marks, uint32_t i)
{
	bool is_new = marks[i] != c->part;

	marks[i] = c->part;
	return is_new;
}

static uint64_t cut_string(const struct export_cut *c, uint32_t string)
{
	return cut_by_number(string) + 1 +
	       (cut_is_new(c, c->strings, string)
			? HEADER_BYTES + strlen(profile_string(c->p, string))
			: 0);
}

static uint64_t cut_mapping(const struct export_cut *c, uint32_t mapping)
{
	const struct profile_mapping *m = &c->p->mappings[mapping];

	if (!cut_is_new(c, c->mappings, mapping))
		return 0;
	/* The number, three addresses, four flags. */
	return HEADER_BYTES + 4 * (1 + VARINT_MAX) + 8 + cut_string(c, m->path) +
	       cut_string(c, m->build_id);
}

static uint64_t cut_function(const struct export_cut *c, uint32_t function)
{
	const struct profile_function *f = &c->p->functions[function];

	if (!cut_is_new(c, c->functions, function))
		return 0;
	return HEADER_BYTES + 1 + cut_by_number((uint64_t)function + 1) + cut_string(c, f->name) +
	       cut_string(c, f->system_name) + cut_string(c, f->filename) + 1 +
	       cut_by_number((uint64_t)f->start_line);
}

static uint64_t cut_line(const struct export_cut *c, const struct profile_line *line)
{
	return HEADER_BYTES + cut_function(c, line->function) + 1 +
	       cut_by_number((uint64_t)line->function + 1) + 1 +
	       cut_by_number((uint64_t)line->line) + 1 + cut_by_number((uint64_t)line->column);
}

static uint64_t cut_location(const struct export_cut *c, uint32_t location)
{
	const struct profile_location *l = &c->p->locations[location];
	uint64_t bytes = 0;

	if (!cut_is_new(c, c->locations, location))
		return 0;
	bytes = HEADER_BYTES + 1 + cut_by_number((uint64_t)location + 1) + 1 + VARINT_MAX + 2;
	if (l->mapping != PROFILE_NONE)
		bytes += 1 + cut_by_number((uint64_t)l->mapping + 1) + cut_mapping(c, l->mapping);
	for (uint32_t i = 0; i < l->n_lines; i++)
		bytes += cut_line(c, &c->p->lines[l->first_line + i]);
	return bytes;
}

static uint64_t cut_values(const struct export_cut *c, size_t sample)
{
	const struct profile *p = c->p;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->n_sample_types; i++)
		bytes += cut_by_number((uint64_t)p->sample_values[sample * p->n_sample_types + i]);
	return bytes;
}

/* Adds frames, leaf first, until one does not fit: how many that are. */
static uint32_t cut_frames(const struct export_cut *c, const struct profile_sample *s,
			   uint64_t *bytes)
{
	for (uint32_t i = 0; i < s->n_locations; i++) {
		uint32_t location = c->p->sample_locations[s->first_location + i];

		uint64_t more = cut_by_number((uint64_t)location + 1) + cut_location(c, location);

		if (*bytes + more > c->max_bytes)
			return i;
		*bytes += more;
	}
	return s->n_locations;
}

int export_cut_init(struct export_cut *c)
{
	c->strings = calloc(profile_n_strings(c->p) + 1, sizeof(*c->strings));
	c->mappings = calloc(c->p->n_mappings + 1, sizeof(*c->mappings));
	c->functions = calloc(c->p->n_functions + 1, sizeof(*c->functions));
	c->locations = calloc(c->p->n_locations + 1, sizeof(*c->locations));
	return c->strings && c->mappings && c->functions && c->locations ? 0
									 : error_origin(-ENOMEM);
}

void export_cut_deinit(struct export_cut *c)
{
	free(c->strings);
	free(c->mappings);
	free(c->functions);
	free(c->locations);
}

static void cut_begin_part(struct export_cut *c)
{
	c->part++;
	c->bytes = PART_BYTES;
	/* The first mapping is in each part: merge.h. */
	if (c->p->n_mappings)
		c->bytes += cut_mapping(c, 0);
}

size_t export_cut_next(struct export_cut *c, size_t first, size_t n)
{
	cut_begin_part(c);
	for (size_t i = 0; i < n && i < c->max_samples; i++) {
		struct profile_sample *s = &c->p->samples[first + i];
		uint64_t bytes = c->bytes + 3 * HEADER_BYTES + cut_values(c, first + i);
		uint32_t n_frames = cut_frames(c, s, &bytes);

		if (n_frames == s->n_locations && bytes <= c->max_bytes) {
			c->bytes = bytes;
			continue;
		}
		if (i)
			return i;
		s->n_locations = n_frames;
		return 1;
	}
	return n < c->max_samples ? n : c->max_samples;
}
