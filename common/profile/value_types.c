/* SPDX-License-Identifier: MIT */
/*
 * Types are distinguished by name. Profiles with waits or latency and without become one with them:
 * what one of them lacks is 0 there, while types of others are left out, or make a mismatch, as in
 * pprof. Units of one name agree if one is a multiple of the other: values move to the finer one,
 * in which none is rounded away. A profile's period has a type of its own, which has to agree as
 * well.
 *
 * Behind that, the arithmetic of differences: values that are scaled, marked as the base's, and
 * added up.
 */
#include "common/profile/value_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/profile/measure.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

#define WAITS "off-cpu" /* the event */

/* The first is what every profile of profd has; another one is another row. */
static const struct value_type value_types[] = {
	{"samples", "count", {NULL}},
	{"cpu", "nanoseconds", {"cpu-clock", "task-clock"}},
	{"off_cpu", "nanoseconds", {WAITS}},
	{"latency", "nanoseconds", {NULL}},
};

/* Those that one profile of profd has beside CPU time and another one lacks. */
static const char *const optional_types[] = {"off_cpu", "latency"};

const struct value_type *value_type_of_event(const char *event)
{
	size_t length = strcspn(event, ":");

	for (size_t i = 0; i < ARRAY_SIZE(value_types); i++)
		for (size_t j = 0; j < ARRAY_SIZE(value_types[i].events); j++) {
			const char *name = value_types[i].events[j];

			if (name && strlen(name) == length && !memcmp(name, event, length))
				return &value_types[i];
		}
	return NULL;
}

int value_types_add(struct profile *p, const char *event)
{
	const struct value_type *samples = &value_types[0];
	const struct value_type *type = value_type_of_event(event);
	int r = profile_add_sample_type(p, samples->name, samples->unit)
			?: profile_add_sample_type(p, type ? type->name : event,
						   type ? type->unit : samples->unit);

	if (!r)
		p->period_type = p->sample_types[1];
	return r;
}

/* The row of this name, its number: ARRAY_SIZE(value_types): none. */
static size_t value_types_row(const char *name)
{
	size_t row = 0;

	while (row < ARRAY_SIZE(value_types) && strcmp(value_types[row].name, name) != 0)
		row++;
	return row;
}

/* A row, behind what is there. */
static int value_types_append(struct profile *p, const char *name)
{
	const struct value_type *type = &value_types[value_types_row(name)];

	if (!p->default_sample_type)
		p->default_sample_type = p->sample_types[1].type;
	return profile_insert_sample_type(p, p->n_sample_types, type->name, type->unit);
}

int value_types_add_waits(struct profile *p)
{
	return value_types_append(p, value_type_of_event(WAITS)->name);
}

int value_types_add_latency(struct profile *p)
{
	return value_types_append(p, "latency");
}

static bool value_types_find_name(const struct profile *p, const char *name, uint32_t *ret)
{
	for (*ret = 1; *ret < p->n_sample_types; ++*ret)
		if (strcmp(profile_string(p, p->sample_types[*ret].type), name) == 0)
			return true;
	return false;
}

bool value_types_find_waits(const struct profile *p, uint32_t *ret)
{
	return value_types_find_name(p, value_type_of_event(WAITS)->name, ret);
}

int value_types_add_optional(struct profile *p)
{
	uint32_t found;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(optional_types) && !r; i++)
		if (!value_types_find_name(p, optional_types[i], &found))
			r = value_types_append(p, optional_types[i]);
	return r;
}

/* Whether @p has a type that others of profd may lack. */
static bool value_types_have_optional(const struct profile *p)
{
	uint32_t found;

	for (size_t i = 0; i < ARRAY_SIZE(optional_types); i++)
		if (value_types_find_name(p, optional_types[i], &found))
			return true;
	return false;
}

bool value_types_is_wait(const struct profile *p, size_t sample)
{
	const int64_t *values = &p->sample_values[sample * p->n_sample_types];
	uint32_t waits;

	if (p->n_sample_types < 3 || !value_types_find_waits(p, &waits) || !values[waits])
		return false;
	for (uint32_t i = 1; i < p->n_sample_types; i++)
		if (i != waits && values[i])
			return false;
	return true;
}

static bool value_types_have_one_name(const struct profile *a, const struct profile_value_type *x,
				      const struct profile *b, const struct profile_value_type *y)
{
	return strcmp(profile_string(a, x->type), profile_string(b, y->type)) == 0;
}

uint32_t value_types_common(const struct profile *a, const struct profile *b,
			    uint32_t ret_a[PROFILE_TYPES_MAX], uint32_t ret_b[PROFILE_TYPES_MAX])
{
	const uint32_t n_a = a->n_sample_types, n_b = b->n_sample_types;
	uint32_t n = 0, same = 0;

	while (n_a == n_b && same < n_a &&
	       value_types_have_one_name(a, &a->sample_types[same], b, &b->sample_types[same]))
		same++;
	for (uint32_t i = 0; i < n_a; i++) {
		/* Where nothing has to go, two types may have one name. */
		uint32_t j = same == n_a && n_a == n_b ? i : 0;

		while (j < n_b &&
		       !value_types_have_one_name(a, &a->sample_types[i], b, &b->sample_types[j]))
			j++;
		if (j == n_b)
			continue;
		ret_a[n] = i;
		ret_b[n++] = j;
	}
	return n;
}

/* The number of @type of @of among @p's types; PROFILE_NONE: it has none. */
static uint32_t value_types_find(const struct profile *p, const struct profile *of, uint32_t type)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		if (value_types_have_one_name(p, &p->sample_types[i], of, &of->sample_types[type]))
			return i;
	return PROFILE_NONE;
}

/* Whether all that @of has and @p lacks are rows; *ret: how many these are. */
static bool value_types_lacks_rows(const struct profile *p, const struct profile *of, uint32_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < of->n_sample_types; i++) {
		const char *name = profile_string(of, of->sample_types[i].type);

		if (value_types_find(p, of, i) != PROFILE_NONE)
			continue;
		if (value_types_row(name) == ARRAY_SIZE(value_types))
			return false;
		++*ret;
	}
	return true;
}

/* What profd writes, but for what it measures: samples, and at least one thing. */
static bool value_types_begin_with_samples(const struct profile *p)
{
	return p->n_sample_types > 1 &&
	       value_types_row(profile_string(p, p->sample_types[0].type)) == 0;
}

/* CPU time comes before the optional ones. */
static int value_types_insert(struct profile *p, const struct value_type *type)
{
	bool is_optional = false;

	for (size_t i = 0; i < ARRAY_SIZE(optional_types); i++)
		is_optional |= strcmp(type->name, optional_types[i]) == 0;
	return profile_insert_sample_type(p, is_optional ? p->n_sample_types : 1, type->name,
					  type->unit);
}

/* What is shown is CPU time, and the period is its own, also where waits alone were there first. */
static void value_types_set_default(struct profile *p)
{
	const struct profile_value_type *shown = &p->sample_types[1];
	uint32_t waits;

	if (!p->default_sample_type)
		p->default_sample_type = shown->type;
	if (value_types_find_waits(p, &waits) && p->period_type.type == p->sample_types[waits].type)
		p->period_type = *shown;
}

/* Of two with the same types: one has them in another order, as merges leave them. */
static bool value_types_are_reordered(const struct profile *a, const struct profile *b)
{
	for (uint32_t i = 0; i < a->n_sample_types && i < b->n_sample_types; i++)
		if (!value_types_have_one_name(a, &a->sample_types[i], b, &b->sample_types[i]))
			return true;
	return false;
}

int value_types_unite(struct profile *p, const struct profile *from, bool is_fixed, bool *ret,
		      uint32_t ret_from[PROFILE_TYPES_MAX])
{
	uint32_t n_p, n_from;
	int r = 0;

	*ret = value_types_begin_with_samples(p) && value_types_begin_with_samples(from) &&
	       (value_types_have_optional(p) || value_types_have_optional(from)) &&
	       value_types_lacks_rows(p, from, &n_p) && value_types_lacks_rows(from, p, &n_from) &&
	       (n_p + n_from || value_types_are_reordered(p, from)) && (!n_p || !is_fixed) &&
	       p->n_sample_types + n_p <= PROFILE_TYPES_MAX;
	if (!*ret)
		return 0;
	for (uint32_t i = 0; i < from->n_sample_types && !r; i++)
		if (value_types_find(p, from, i) == PROFILE_NONE)
			r = value_types_insert(p, &value_types[value_types_row(profile_string(
							  from, from->sample_types[i].type))]);
	if (!r && n_p)
		value_types_set_default(p);
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		ret_from[i] = value_types_find(from, p, i);
	return r;
}

int value_types_reduce(struct profile *p, const uint32_t *types, uint32_t n)
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

static void value_types_print(const struct profile *p, char *ret, size_t size)
{
	size_t length = 0;

	snprintf(ret, size, "none");
	for (uint32_t i = 0; i < p->n_sample_types && length < size; i++)
		length += (size_t)snprintf(ret + length, size - length, "%s%s/%s", i ? " " : "",
					   profile_string(p, p->sample_types[i].type),
					   profile_string(p, p->sample_types[i].unit));
}

static int value_types_refuse(const struct profile *a, const struct profile *b, bool is_period,
			      struct profile_message *message)
{
	char types_a[72], types_b[72];

	if (is_period)
		return profile_refuse(message, VALUE_TYPES_E_MISMATCH,
				      "period types differ: %.40s/%.20s and %.40s/%.20s",
				      profile_string(a, a->period_type.type),
				      profile_string(a, a->period_type.unit),
				      profile_string(b, b->period_type.type),
				      profile_string(b, b->period_type.unit));
	value_types_print(a, types_a, sizeof(types_a));
	value_types_print(b, types_b, sizeof(types_b));
	return profile_refuse(message, VALUE_TYPES_E_MISMATCH, "sample types differ: %s and %s",
			      types_a, types_b);
}

/* Whether the one of two periods is of CPU time and the other of waits, which are one clock. */
static bool value_types_are_periods(const struct profile *p, const struct profile *from)
{
	const size_t x = value_types_row(profile_string(p, p->period_type.type));
	const size_t y = value_types_row(profile_string(from, from->period_type.type));

	return x && y && x < ARRAY_SIZE(value_types) && y < ARRAY_SIZE(value_types);
}

int value_types_agree(struct profile *p, const struct profile *from, const uint32_t *from_types,
		      double ret_ratios[PROFILE_TYPES_MAX + 1], struct profile_message *message)
{
	const uint32_t n = p->n_sample_types;
	const struct profile_value_type *of[PROFILE_TYPES_MAX + 1];
	double own[PROFILE_TYPES_MAX + 1];
	bool is_united = false;

	if (!from_types && n != from->n_sample_types)
		return value_types_refuse(p, from, false, message);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t type = from_types ? from_types[i] : i;

		of[i] = type == PROFILE_NONE ? NULL : &from->sample_types[type];
		is_united |= !of[i];
	}
	of[n] = &from->period_type;
	/* One that lacks what the other one's period is of. */
	if (is_united && value_types_are_periods(p, from))
		of[n] = NULL;
	for (uint32_t i = 0; i <= n; i++) {
		const struct profile_value_type *to = i < n ? &p->sample_types[i] : &p->period_type;

		own[i] = ret_ratios[i] = 1;
		if (!of[i])
			continue;
		ret_ratios[i] = measure_ratio(profile_string(from, of[i]->unit),
					      profile_string(p, to->unit));
		if (!ret_ratios[i] || !value_types_have_one_name(p, to, from, of[i]))
			return value_types_refuse(p, from, i == n, message);
	}
	for (uint32_t i = 0; i <= n; i++) {
		struct profile_value_type *to = i < n ? &p->sample_types[i] : &p->period_type;
		const char *finer;
		int r;

		if (ret_ratios[i] >= 1)
			continue;
		finer = profile_string(from, of[i]->unit);
		own[i] = measure_ratio(profile_string(p, to->unit), finer);
		ret_ratios[i] = 1;
		r = profile_add_text(p, finer, &to->unit);
		if (r)
			return r;
	}
	compare_scale(p, own);
	p->period = compare_scaled(p->period, own[n]);
	return VALUE_TYPES_E_OK;
}

int value_types_share(struct profile *a, struct profile *b, struct profile_message *message)
{
	uint32_t of_a[PROFILE_TYPES_MAX], of_b[PROFILE_TYPES_MAX];
	uint32_t n = value_types_common(a, b, of_a, of_b);
	double ratios[PROFILE_TYPES_MAX + 1];
	int r;

	if (!n)
		return profile_refuse(message, VALUE_TYPES_E_MISMATCH,
				      "the two have no type of values in common");
	r = value_types_reduce(a, of_a, n) ?:
	    value_types_reduce(b, of_b, n) ?:
	    value_types_agree(a, b, NULL, ratios, message);
	for (uint32_t i = 0; i <= n && !r; i++)
		r = profile_add_text(
			b, profile_string(a, i < n ? a->sample_types[i].unit : a->period_type.unit),
			i < n ? &b->sample_types[i].unit : &b->period_type.unit);
	if (r)
		return r;
	compare_scale(b, ratios);
	b->period = compare_scaled(b->period, ratios[n]);
	return VALUE_TYPES_E_OK;
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

void compare_scale(struct profile *p, const double *ratios)
{
	uint32_t n_types = p->n_sample_types;

	for (uint32_t type = 0; type < n_types; type++)
		for (size_t i = 0; i < p->n_samples && ratios[type] != 1; i++)
			p->sample_values[i * n_types + type] =
				compare_scaled(p->sample_values[i * n_types + type], ratios[type]);
}

void compare_normalize(const struct profile *source, const struct profile *base, double *ret)
{
	for (uint32_t i = 0; i < source->n_sample_types; i++) {
		int64_t total = profile_total(source, i);

		ret[i] = total ? (double)profile_total(base, i) / (double)total : 0;
	}
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

bool compare_is_base(const struct profile *p, const struct profile_label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (labels[i].str && strcmp(profile_string(p, labels[i].key), COMPARE_LABEL) == 0 &&
		    strcmp(profile_string(p, labels[i].str), "true") == 0)
			return true;
	return false;
}

void compare_total_add(struct compare_total *t, const struct profile *p, size_t sample,
		       uint32_t type, bool is_mean)
{
	const struct profile_sample *s = &p->samples[sample];
	const int64_t *values = &p->sample_values[sample * p->n_sample_types];
	int64_t value = values[type];

	if (value < 0)
		value = value == INT64_MIN ? INT64_MAX : -value;
	t->total = clamped_add(t->total, value);
	if (is_mean)
		t->divisor = clamped_add(t->divisor, values[0]);
	if (!s->n_labels || !compare_is_base(p, &p->sample_labels[s->first_label], s->n_labels))
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
