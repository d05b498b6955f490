/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_READING_H
#define PROFD_COMMON_PROFILE_PPROF_READING_H

/*
 * What the fields of a profile.proto message mean, on their way into a struct profile. They are
 * read in the order of what they refer to: strings; tables, which refer to strings only; locations,
 * which refer to functions and mappings; samples. Each function takes the field that it is for and
 * does nothing for others. They return 0, PPROF_E_* with a message, or negative errno.
 * Internal to common/profile; pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/intern.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/times_block.h"
#include "common/wire.h"

/* Numbers of fields of Profile. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME = 9,
};

/*
 * profile.proto's ids (any nonzero 64-bit numbers) to our indices. Writers number from 1, as a
 * rule: then the ids are an index themselves, which the thirty million look-ups of a big profile
 * need. Those that are not the next number are in a hash table.
 */
struct pprof_id {
	uint64_t id;
	uint32_t index;
};

/* All zero is an empty map. */
struct pprof_ids {
	uint32_t *dense; /* index by id - 1 */
	size_t n_dense, max_dense;
	struct pprof_id *others; /* by id */
	struct intern others_in;
};

void pprof_ids_deinit(struct pprof_ids *ids);

/* All zero but for @p is a message of which nothing is read yet. */
struct pprof_reading {
	struct profile *p;
	struct profile_message *message;
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
	struct times_reading times; /* of the samples that come next */
	bool ignores_times;
	struct profile_line *lines; /* of the location being read */
	size_t max_lines;
};

static inline bool pprof_is_of_samples(uint32_t field)
{
	return field == PPROF_SAMPLE || field == PPROF_TIMES;
}

/* What cannot be represented is the file's fault, not ours. */
#define PPROF_REFUSE(r, ...) profile_refuse((r)->message, PPROF_E_MALFORMED, __VA_ARGS__)

void pprof_reading_deinit(struct pprof_reading *r);
/*
 * Adds to the message where in the file, unpacked, the field begins that was refused. Returns
 * PPROF_E_MALFORMED.
 */
int pprof_reading_place(struct pprof_reading *r, uint64_t offset);

int pprof_reading_string(struct pprof_reading *r, const struct wire_field *f);
int pprof_reading_table(struct pprof_reading *r, const struct wire_field *f);
int pprof_reading_location(struct pprof_reading *r, const struct wire_field *f);
/* A sample, or the times of those that follow. */
int pprof_reading_sample(struct pprof_reading *r, const struct wire_field *f);

#endif
