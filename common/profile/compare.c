/* SPDX-License-Identifier: MIT */
/* The arithmetic of differences: values that are scaled, marked as the base's, and added up. */
#include "common/profile/compare.h"

#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

int64_t compare_scaled(int64_t value, double ratio)
{
	double scaled = (double)value * ratio, rest;
	int64_t whole;

	if (ratio == 1)
		return value;
	if (ratio == -1)
		return value == INT64_MIN ? INT64_MAX : -value;
	if (scaled >= 0x1p63)
		return INT64_MAX;
	if (scaled <= -0x1p63)
		return INT64_MIN;
	/* As round(3), without the library that has it: profd merges, too. */
	whole = (int64_t)scaled;
	rest = scaled - (double)whole;
	return whole + (rest >= 0.5) - (rest <= -0.5);
}

void compare_scale(struct profile *p, size_t first, size_t n, const double *ratios)
{
	uint32_t n_types = p->n_sample_types;
	size_t end = n < p->n_samples - first ? first + n : p->n_samples;

	for (uint32_t type = 0; type < n_types; type++)
		for (size_t i = first; i < end && ratios[type] != 1; i++)
			p->sample_values[i * n_types + type] =
				compare_scaled(p->sample_values[i * n_types + type], ratios[type]);
}

void compare_normalize(const int64_t *source, const int64_t *base, uint32_t n, double *ret)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = source[i] ? (double)base[i] / (double)source[i] : 0;
}

/* --- the base's label ------------------------------------------------------------------------- */

/* All labels anew: those of sample @i but for any of its key, and @mark, from @n on. */
static void mark_sample(struct profile *p, size_t i, const struct profile_label *mark,
			struct profile_label *labels, size_t *n)
{
	struct profile_sample *s = &p->samples[i];
	size_t first = *n;

	for (uint32_t j = 0; j < s->n_labels; j++)
		if (p->sample_labels[s->first_label + j].key != mark->key)
			labels[(*n)++] = p->sample_labels[s->first_label + j];
	labels[(*n)++] = *mark;
	s->first_label = first;
	s->n_labels = (uint32_t)(*n - first);
}

int compare_label_base(struct profile *p)
{
	cleanup(freep) struct profile_label *labels = NULL;
	struct profile_label mark = {0};
	size_t n = 0, max = 0;
	int r = profile_add_text(p, COMPARE_LABEL, &mark.key) ?:
		profile_add_text(p, "true", &mark.str) ?:
		room_make(&labels, &max, p->n_sample_labels + p->n_samples, sizeof(*labels));

	if (r)
		return r;
	for (size_t i = 0; i < p->n_samples; i++)
		mark_sample(p, i, &mark, labels, &n);
	free(p->sample_labels);
	p->sample_labels = steal_ptr(&labels);
	p->n_sample_labels = n;
	p->tables->max_sample_labels = max;
	return profile_repack_samples(p);
}

/* --- totals ----------------------------------------------------------------------------------- */

static bool sample_is_base(const struct profile *p, const struct profile_sample *s)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];

		if (l->str && strcmp(profile_string(p, l->key), COMPARE_LABEL) == 0 &&
		    strcmp(profile_string(p, l->str), "true") == 0)
			return true;
	}
	return false;
}

void compare_total_add(struct compare_total *t, const struct profile *p, size_t sample,
		       uint32_t type, bool is_mean)
{
	const int64_t *values = &p->sample_values[sample * p->n_sample_types];
	int64_t value = values[type];

	if (value < 0)
		value = value == INT64_MIN ? INT64_MAX : -value;
	t->total = clamped_add(t->total, value);
	if (is_mean)
		t->divisor = clamped_add(t->divisor, values[0]);
	if (!sample_is_base(p, &p->samples[sample]))
		return;
	t->base_total = clamped_add(t->base_total, value);
	if (is_mean)
		t->base_divisor = clamped_add(t->base_divisor, values[0]);
}

int64_t compare_total(const struct compare_total *t)
{
	int64_t total = t->base_total > 0 ? t->base_total : t->total;
	int64_t divisor = t->base_total > 0 ? t->base_divisor : t->divisor;

	return divisor ? total / divisor : total;
}
