/* SPDX-License-Identifier: MIT */
#include "common/profile/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/measure.h"
#include "common/profile/message.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

/* --- types ------------------------------------------------------------------------------------ */

/* Makes *a, of @joined, the finer one of itself and @b. COMPARE_E_MISMATCH: they differ. */
static int join_type(struct profile *joined, struct profile_value_type *a, const struct profile *p,
		     const struct profile_value_type *b, struct profile_message *message)
{
	const char *unit_a = profile_string(joined, a->unit), *unit_b = profile_string(p, b->unit);
	const char *type_a = profile_string(joined, a->type), *type_b = profile_string(p, b->type);
	double ratio = measure_ratio(unit_b, unit_a);

	if (strcmp(type_a, type_b) != 0 || !ratio)
		return profile_refuse(message, COMPARE_E_MISMATCH,
				      "types of values differ: %.40s/%.30s and %.40s/%.30s", type_a,
				      unit_a, type_b, unit_b);
	return ratio < 1 ? profile_add_text(joined, unit_b, &a->unit) : COMPARE_E_OK;
}

static int begin_types(struct profile *joined, const struct profile *p)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n_sample_types && !r; i++)
		r = profile_add_sample_type(joined, profile_string(p, p->sample_types[i].type),
					    profile_string(p, p->sample_types[i].unit));
	if (!r)
		r = profile_add_text(joined, profile_string(p, p->period_type.type),
				     &joined->period_type.type);
	return r ? r
		 : profile_add_text(joined, profile_string(p, p->period_type.unit),
				    &joined->period_type.unit);
}

int compare_types_join(struct profile *joined, const struct profile *p,
		       struct profile_message *message)
{
	int r = 0;

	if (!joined->n_sample_types)
		return begin_types(joined, p);
	if (joined->n_sample_types != p->n_sample_types)
		return profile_refuse(message, COMPARE_E_MISMATCH,
				      "one has %u types of values, the other one %u",
				      joined->n_sample_types, p->n_sample_types);
	for (uint32_t i = 0; i < p->n_sample_types && !r; i++)
		r = join_type(joined, &joined->sample_types[i], p, &p->sample_types[i], message);
	return r ? r : join_type(joined, &joined->period_type, p, &p->period_type, message);
}

static bool have_same_types(const struct profile *a, const struct profile *b)
{
	bool same = a->n_sample_types == b->n_sample_types;

	for (uint32_t i = 0; same && i < a->n_sample_types; i++)
		same = strcmp(profile_string(a, a->sample_types[i].type),
			      profile_string(b, b->sample_types[i].type)) == 0;
	return same;
}

void compare_types_common(const struct profile *a, const struct profile *b,
			  uint32_t ret_a[PROFILE_TYPES_MAX], uint32_t ret_b[PROFILE_TYPES_MAX],
			  uint32_t *ret_n)
{
	uint32_t n = 0;

	/* Where nothing has to go, two types may have one name. */
	for (; have_same_types(a, b) && n < a->n_sample_types; n++)
		ret_a[n] = ret_b[n] = n;
	for (uint32_t i = 0; !have_same_types(a, b) && i < a->n_sample_types; i++) {
		const char *name = profile_string(a, a->sample_types[i].type);

		for (uint32_t j = 0; j < b->n_sample_types; j++) {
			if (strcmp(profile_string(b, b->sample_types[j].type), name) != 0)
				continue;
			ret_a[n] = i;
			ret_b[n++] = j;
			break;
		}
	}
	*ret_n = n;
}

int compare_types_reduce(struct profile *p, const uint32_t *types, uint32_t n)
{
	bool same = n == p->n_sample_types, has_default = false;

	for (uint32_t i = 0; i < n; i++) {
		same &= types[i] == i;
		has_default |= p->sample_types[types[i]].type == p->default_sample_type;
	}
	if (same)
		return 0;
	profile_keep_types(p, types, n);
	if (!has_default)
		p->default_sample_type = p->sample_types[0].type;
	return profile_repack_samples(p);
}

int compare_types_share(struct profile *a, struct profile *b, struct profile_message *message)
{
	uint32_t of_a[PROFILE_TYPES_MAX], of_b[PROFILE_TYPES_MAX], n;
	int r;

	compare_types_common(a, b, of_a, of_b, &n);
	if (!n)
		return profile_refuse(message, COMPARE_E_MISMATCH,
				      "the two have no type of values in common");
	r = compare_types_reduce(a, of_a, n);
	return r ? r : compare_types_reduce(b, of_b, n);
}

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

static int apply_type(struct profile *p, struct profile_value_type *type,
		      const struct profile *joined, uint32_t unit, double *ret)
{
	const char *to = profile_string(joined, unit);

	*ret = measure_ratio(profile_string(p, type->unit), to);
	return profile_add_text(p, to, &type->unit);
}

int compare_types_apply(struct profile *p, const struct profile *joined, double *ret)
{
	double period;
	int r = 0;

	for (uint32_t i = 0; i < p->n_sample_types && !r; i++)
		r = apply_type(p, &p->sample_types[i], joined, joined->sample_types[i].unit,
			       &ret[i]);
	if (!r)
		r = apply_type(p, &p->period_type, joined, joined->period_type.unit, &period);
	if (!r)
		p->period = compare_scaled(p->period, period);
	return r;
}

/* --- values ----------------------------------------------------------------------------------- */

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
	int r = profile_add_text(p, COMPARE_LABEL, &mark.key);

	if (!r)
		r = profile_add_text(p, "true", &mark.str);
	if (!r)
		r = room_make(&labels, &max, p->n_sample_labels + p->n_samples, sizeof(*labels));
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
