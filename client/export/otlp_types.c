/* SPDX-License-Identifier: MIT */
#include "client/export/otlp_types.h"

#include <string.h>

#include "common/profile/profile.h"

static bool otlp_type_is(const struct profile *p, const struct profile_value_type *t,
			 const char *type, const char *unit)
{
	return strcmp(profile_string(p, t->type), type) == 0 &&
	       strcmp(profile_string(p, t->unit), unit) == 0;
}

static bool otlp_counts_periods(const struct profile *p, uint32_t samples, uint32_t cpu)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		const int64_t *values = &p->sample_values[i * p->n_sample_types];
		int64_t product;

		if (__builtin_mul_overflow(values[samples], p->period, &product) ||
		    product != values[cpu])
			return false;
	}
	return true;
}

void otlp_choose_types(const struct profile *p, bool *ret_sent)
{
	uint32_t samples = PROFILE_NONE, cpu = PROFILE_NONE;

	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		ret_sent[i] = true;
		if (otlp_type_is(p, &p->sample_types[i], "samples", "count"))
			samples = i;
		if (otlp_type_is(p, &p->sample_types[i], "cpu", "nanoseconds"))
			cpu = i;
	}
	if (samples == PROFILE_NONE || cpu == PROFILE_NONE ||
	    !otlp_type_is(p, &p->period_type, "cpu", "nanoseconds"))
		return;
	ret_sent[p->period > 0 && otlp_counts_periods(p, samples, cpu) ? cpu : samples] = false;
}
