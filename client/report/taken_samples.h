/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_TAKEN_SAMPLES_H
#define PROFD_REPORT_TAKEN_SAMPLES_H

/*
 * A profile's samples, taken out of it, so that others, made of them, can be put in. Indices stay
 * those of the profile.
 */
#include <stdlib.h>

#include "common/profile/profile.h"

struct taken_samples {
	struct profile_sample *samples;
	size_t n;
	uint32_t *locations;
	int64_t *values;
	struct profile_label *labels;
};

static inline void taken_samples_init(struct taken_samples *t, struct profile *p)
{
	*t = (struct taken_samples){
		.samples = p->samples,
		.n = p->n_samples,
		.locations = p->sample_locations,
		.values = p->sample_values,
		.labels = p->sample_labels,
	};
	p->samples = NULL;
	p->sample_locations = NULL;
	p->sample_values = NULL;
	p->sample_labels = NULL;
	profile_clear_samples(p);
}

/* Nothing has no place. */
static inline const struct profile_label *taken_labels(const struct taken_samples *t, size_t sample)
{
	const struct profile_sample *s = &t->samples[sample];

	return s->n_labels ? t->labels + s->first_label : NULL;
}

static inline const uint32_t *taken_chain(const struct taken_samples *t, size_t sample)
{
	const struct profile_sample *s = &t->samples[sample];

	return s->n_locations ? t->locations + s->first_location : NULL;
}

static inline void taken_samples_deinit(struct taken_samples *t)
{
	free(t->samples);
	free(t->locations);
	free(t->values);
	free(t->labels);
}

#endif
