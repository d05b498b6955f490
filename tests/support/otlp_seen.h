/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_OTLP_SEEN_H
#define PROFD_TESTS_OTLP_SEEN_H

/*
 * An OTLP message of profiles, taken apart as far as it goes without a library: every field is one
 * of its message, every table is there and begins with its zero value, every sample's indices are
 * within their tables. (tests/integration/otlp_rules.py has all rules.)
 */
#undef NDEBUG /* the assertions are what this is for */
#include <assert.h>

#include "client/export/otlp_dictionary.h"
#include "common/clamped.h"
#include "common/wire.h"

struct otlp_seen {
	size_t n_entries[OTLP_TABLES_END]; /* of the dictionary */
	size_t n_profiles, n_samples;
	size_t last_stack, last_attribute; /* that samples have */
	int64_t sum;                       /* of all values */
};

static inline void otlp_see_list(struct wire list, size_t *highest)
{
	uint64_t index;

	while (wire_varint(&list, &index))
		*highest = index > *highest ? index : *highest;
	assert(list.at == list.end);
}

static inline void otlp_see_sample(struct wire sample, struct otlp_seen *seen)
{
	struct wire_field field;
	uint64_t value = 0;

	while (wire_next(&sample, &field)) {
		if (field.number == 1)
			seen->last_stack = field.value > seen->last_stack ? field.value
									  : seen->last_stack;
		else if (field.number == 2)
			otlp_see_list(field.bytes, &seen->last_attribute);
		else
			assert(field.number == 4 && wire_varint(&field.bytes, &value) && value &&
			       field.bytes.at == field.bytes.end);
	}
	assert(sample.at == sample.end && value);
	seen->n_samples++;
	seen->sum = clamped_add(seen->sum, (int64_t)value);
}

static inline void otlp_see_profile(struct wire profile, struct otlp_seen *seen)
{
	struct wire_field field;

	while (wire_next(&profile, &field)) {
		assert(field.number <= 7);
		if (field.number == 2)
			otlp_see_sample(field.bytes, seen);
	}
	assert(profile.at == profile.end);
	seen->n_profiles++;
}

/* ResourceProfiles: 2 scope_profiles; ScopeProfiles: 2 profiles. */
static inline void otlp_see_resource(struct wire resource, struct otlp_seen *seen)
{
	struct wire_field field, part;

	while (wire_next(&resource, &field)) {
		assert(field.number <= 2 && field.type == WIRE_BYTES);
		while (field.number == 2 && wire_next(&field.bytes, &part))
			if (part.number == 2)
				otlp_see_profile(part.bytes, seen);
	}
	assert(resource.at == resource.end);
}

static inline void otlp_see_dictionary(struct wire dictionary, struct otlp_seen *seen)
{
	struct wire_field field;

	while (wire_next(&dictionary, &field)) {
		assert(field.number < OTLP_TABLES_END && field.type == WIRE_BYTES);
		if (!seen->n_entries[field.number]++)
			assert(field.bytes.at == field.bytes.end);
	}
	assert(dictionary.at == dictionary.end);
}

static inline struct otlp_seen otlp_see(const uint8_t *bytes, size_t length)
{
	struct wire message = {bytes, bytes + length};
	struct otlp_seen seen = {0};
	struct wire_field field;

	while (wire_next(&message, &field)) {
		if (field.number == 1)
			otlp_see_resource(field.bytes, &seen);
		else
			otlp_see_dictionary(field.bytes, &seen);
	}
	assert(message.at == message.end && seen.n_profiles);
	for (size_t i = OTLP_MAPPINGS; i < OTLP_TABLES_END; i++)
		assert(seen.n_entries[i]);
	assert(seen.last_stack < seen.n_entries[OTLP_STACKS]);
	assert(seen.last_attribute < seen.n_entries[OTLP_ATTRIBUTES]);
	return seen;
}

#endif
