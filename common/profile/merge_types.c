/* SPDX-License-Identifier: MIT */
/* What the values of a merge are, and their units: the finest that any of its profiles has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/profile/compare.h"
#include "common/profile/measure.h"
#include "common/profile/merge_private.h"
#include "common/profile/message.h"

int merge_begin_types(struct merge *m)
{
	const struct profile *from = m->from;
	int r = profile_new(&m->p);

	for (uint32_t i = 0; i < from->n_sample_types && !r; i++)
		r = profile_add_sample_type(m->p, profile_string(from, from->sample_types[i].type),
					    profile_string(from, from->sample_types[i].unit));
	if (!r)
		r = profile_add_text(m->p, profile_string(from, from->period_type.type),
				     &m->p->period_type.type);
	if (!r)
		r = profile_add_text(m->p, profile_string(from, from->period_type.unit),
				     &m->p->period_type.unit);
	if (!r)
		r = profile_add_text(m->p, profile_string(from, from->drop_frames),
				     &m->p->drop_frames);
	if (!r)
		r = profile_add_text(m->p, profile_string(from, from->keep_frames),
				     &m->p->keep_frames);
	if (!r && m->mode == MERGE_WINDOWS_SET)
		r = profile_add_text(m->p, WINDOWS_LABEL, &m->window_key);
	if (!r && m->mode == MERGE_WINDOWS_SET)
		r = profile_add_text(m->p, "seconds", &m->window_unit);
	return r;
}

static bool same_type(const struct profile *a, const struct profile_value_type *x,
		      const struct profile *b, const struct profile_value_type *y)
{
	return strcmp(profile_string(a, x->type), profile_string(b, y->type)) == 0 &&
	       strcmp(profile_string(a, x->unit), profile_string(b, y->unit)) == 0;
}

static void print_types(const struct profile *p, char *ret, size_t size)
{
	size_t length = 0;

	snprintf(ret, size, "none");
	for (uint32_t i = 0; i < p->n_sample_types && length < size; i++)
		length += (size_t)snprintf(ret + length, size - length, "%s%s/%s", i ? " " : "",
					   profile_string(p, p->sample_types[i].type),
					   profile_string(p, p->sample_types[i].unit));
}

/* Whether the types that are taken of m->from are those of m->p. */
static bool same_types(const struct merge *m)
{
	const struct profile *a = m->p, *b = m->from;
	bool same = m->takes_common || a->n_sample_types == b->n_sample_types;

	for (uint32_t i = 0; same && i < a->n_sample_types; i++)
		same = same_type(a, &a->sample_types[i], b, &b->sample_types[m->from_types[i]]);
	return same;
}

/* But for their units. */
static bool is_comparable(const struct profile *a, const struct profile_value_type *x,
			  const struct profile *b, const struct profile_value_type *y)
{
	return strcmp(profile_string(a, x->type), profile_string(b, y->type)) == 0 &&
	       measure_ratio(profile_string(a, x->unit), profile_string(b, y->unit)) != 0;
}

static int refuse_types(const struct merge *m, struct profile_message *message)
{
	const struct profile *a = m->p, *b = m->from;
	char types_a[72], types_b[72];
	bool same = a->n_sample_types == b->n_sample_types;

	for (uint32_t i = 0; same && i < a->n_sample_types; i++)
		same = is_comparable(a, &a->sample_types[i], b, &b->sample_types[i]);
	if (!same) {
		print_types(a, types_a, sizeof(types_a));
		print_types(b, types_b, sizeof(types_b));
		return profile_refuse(message, MERGE_E_MISMATCH, "sample types differ: %s and %s",
				      types_a, types_b);
	}
	return profile_refuse(
		message, MERGE_E_MISMATCH, "period types differ: %.40s/%.20s and %.40s/%.20s",
		profile_string(a, a->period_type.type), profile_string(a, a->period_type.unit),
		profile_string(b, b->period_type.type), profile_string(b, b->period_type.unit));
}

/* The types of m->from that are taken: a profile without samples. */
static int merge_copy_source_types(const struct merge *m, struct profile **ret)
{
	cleanup(profile_freep) struct profile *types = NULL;
	const struct profile *from = m->from;
	uint32_t n = m->takes_common ? m->p->n_sample_types : from->n_sample_types;
	int r = profile_new(&types);

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct profile_value_type *type = &from->sample_types[m->from_types[i]];

		r = profile_add_sample_type(types, profile_string(from, type->type),
					    profile_string(from, type->unit));
	}
	if (!r)
		r = profile_add_text(types, profile_string(from, from->period_type.type),
				     &types->period_type.type);
	if (!r)
		r = profile_add_text(types, profile_string(from, from->period_type.unit),
				     &types->period_type.unit);
	if (!r)
		*ret = steal_ptr(&types);
	return r;
}

/* What is there already gets the finest units of both. */
static int merge_refine_units(struct merge *m, struct profile_message *message)
{
	cleanup(profile_freep) struct profile *joined = NULL, *types = NULL;
	double ratios[PROFILE_TYPES_MAX];
	struct profile_message ignored;
	int r = profile_new(&joined);

	if (!r)
		r = merge_copy_source_types(m, &types);
	if (!r)
		r = compare_types_join(joined, m->p, &ignored);
	if (!r)
		r = compare_types_join(joined, types, &ignored);
	if (r > 0)
		return refuse_types(m, message);
	if (!r)
		r = compare_types_apply(m->p, joined, ratios);
	if (!r)
		compare_scale(m->p, 0, m->p->n_samples, ratios);
	return r;
}

/* Reduces m->p to the types that m->from has, too. A profile that loses some has a default. */
static int share_types(struct merge *m, struct profile_message *message)
{
	const struct profile *from = m->from;
	uint32_t kept[PROFILE_TYPES_MAX], n, dflt = PROFILE_NONE;
	bool same;
	int r;

	compare_types_common(m->p, from, kept, m->from_types, &n);
	if (!n && (m->p->n_sample_types || from->n_sample_types))
		return refuse_types(m, message);
	r = compare_types_reduce(m->p, kept, n);
	same = n == from->n_sample_types;
	for (uint32_t i = 0; i < n; i++) {
		same &= m->from_types[i] == i;
		if (from->sample_types[m->from_types[i]].type == from->default_sample_type)
			dflt = i;
	}
	if (r || same || m->p->default_sample_type)
		return r;
	m->p->default_sample_type = m->p->sample_types[dflt == PROFILE_NONE ? 0 : dflt].type;
	return 0;
}

static double ratio_of(const struct merge *m, const struct profile_value_type *from,
		       const struct profile_value_type *to)
{
	return measure_ratio(profile_string(m->from, from->unit), profile_string(m->p, to->unit));
}

int merge_agree_types(struct merge *m, struct profile_message *message)
{
	int r = 0;

	for (uint32_t i = 0; i < PROFILE_TYPES_MAX; i++)
		m->from_types[i] = i;
	if (m->takes_common)
		r = share_types(m, message);
	if (!r &&
	    !(same_types(m) && same_type(m->p, &m->p->period_type, m->from, &m->from->period_type)))
		r = merge_refine_units(m, message);
	if (r)
		return r;
	for (uint32_t i = 0; i < m->p->n_sample_types; i++)
		m->ratios[i] = ratio_of(m, &m->from->sample_types[m->from_types[i]],
					&m->p->sample_types[i]);
	m->period_ratio = ratio_of(m, &m->from->period_type, &m->p->period_type);
	return 0;
}
