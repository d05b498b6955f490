/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_READ_PRIVATE_H
#define PROFD_COMMON_PROFILE_PPROF_READ_PRIVATE_H

/*
 * What pprof_read.c, pprof_samples.c and pprof_reader.c share: a profile.proto message on its way
 * into a struct profile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/message.h"
#include "common/profile/pprof.h"
#include "common/profile/pprof_ids.h"
#include "common/profile/pprof_wire.h"
#include "common/profile/profile.h"

#define PPROF_SUBMESSAGE_MAX ((size_t)1 << 20)

/* Field numbers of Profile, see common/profile.proto. */
#define PPROF_F_SAMPLE 2u
#define PPROF_F_STRING 6u

/*
 * Where in the message parts of it are that were put together: from the byte @at of them on, those
 * from @offset on. Programs write things of a kind one after the other, so that these are few; what
 * more there are is not remembered.
 */
struct pprof_places {
	struct {
		size_t at;
		uint64_t offset;
	} pieces[64];
	size_t n;
	size_t end; /* bytes whose place is known */
};

/* All zero but for message and data, and for p if strings come first: nothing is read yet. */
struct pprof_reading {
	struct profile *p;
	struct profile_message *message;
	struct wire data;
	const struct pprof_places *places; /* of data; NULL: it is the message */
	struct wire at;                    /* of the walk in work */
	unsigned walk;
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

/* What cannot be represented is the file's fault, not ours. */
#define PPROF_REFUSE(r, ...) profile_refuse((r)->message, PPROF_E_MALFORMED, __VA_ARGS__)

void pprof_reading_deinit(struct pprof_reading *r);
/*
 * Adds to the message where in the file, unpacked, the field begins that was refused. Returns
 * PPROF_E_MALFORMED.
 */
int pprof_reading_place(struct pprof_reading *r, uint64_t offset);
/*
 * Walks over at most @max_fields of the message at r->data, which stays where it is until all walks
 * are over (*ret_done). PPROF_E_* or negative errno.
 */
int pprof_reading_step(struct pprof_reading *r, size_t max_fields, bool *ret_done);
/*
 * Adds the string that field @f is. All of them may be added like this, in their order, before
 * the walks, which then find none.
 */
int pprof_reading_add_string(struct pprof_reading *r, const struct wire_field *f);
/* Adds the sample that field @f is; does nothing if it is none. Everything else has been read. */
int pprof_reading_sample(struct pprof_reading *r, const struct wire_field *f);

/* Of both files: the error @error of struct profile as an outcome; a string; room for one more. */
int pprof_reading_checked(struct pprof_reading *r, int error);
int pprof_reading_string(struct pprof_reading *r, int64_t number, uint32_t *ret);
int pprof_reading_grow(uint32_t **array, size_t *max);

#endif
