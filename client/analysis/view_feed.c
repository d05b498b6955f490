/* SPDX-License-Identifier: MIT */
#include "client/analysis/view_feed.h"

#include <errno.h>
#include <stdlib.h>

#include "client/analysis/shape.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile.h"

void view_feed_deinit(struct view_feed *f)
{
	free(f->of_types);
	free(f->totals);
	label_units_deinit(&f->label_units);
	intern_deinit(&f->services_in);
	free(f->services);
}

/* Totals of each type, where the view shows all of them. */
static int view_feed_begin(struct view_feed *f, const struct profile *p)
{
	f->is_begun = true;
	f->input.label_units = &f->label_units;
	if (!f->view || !f->view->class->tells_all_types || f->view->options.one_type)
		return 0;
	f->of_types = calloc(p->n_sample_types, sizeof(*f->of_types));
	f->totals = calloc(p->n_sample_types, sizeof(*f->totals));
	f->input.totals = f->totals;
	return f->of_types && f->totals ? 0 : error_origin(-ENOMEM);
}

static void view_feed_count(struct view_feed *f, struct compare_total *t, const struct profile *p,
			    size_t sample)
{
	if (f->has_totals)
		return;
	compare_total_add(t, p, sample, f->input.type, f->input.mean);
	for (uint32_t i = 0; f->of_types && i < p->n_sample_types; i++)
		if ((t == &f->taken) == f->is_relative)
			compare_total_add(&f->of_types[i], p, sample, i, f->input.mean);
}

/* What labels of profd show of a sample for the header: whether its stack has a root, and whose it
 * is. */
static int view_feed_learn_labels(struct view_feed *f, const struct profile *p,
				  const struct profile_sample *s, int64_t n)
{
	const bool is_base = compare_is_base(p, &p->sample_labels[s->first_label], s->n_labels);

	if (is_base)
		f->input.n_base_shown = clamped_add(f->input.n_base_shown, n);
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];
		uint32_t index;
		int r = 0;

		if (l->str && l->key == f->stack_key && l->str == f->guessed) {
			f->input.n_guessed = clamped_add(f->input.n_guessed, n);
			if (is_base)
				f->input.n_base_guessed = clamped_add(f->input.n_base_guessed, n);
		} else if (l->str && l->key == f->stack_key) {
			f->input.n_rootless = clamped_add(f->input.n_rootless, n);
			if (is_base)
				f->input.n_base_rootless = clamped_add(f->input.n_base_rootless, n);
		} else if (l->str && l->key == f->service_key) {
			r = intern_add(&f->services_in, &f->services, &l->str, sizeof(l->str),
				       sizeof(l->str), &index);
		}
		if (r)
			return r;
	}
	return 0;
}

/* CPU samples are none of waits, and waits beside them none of CPU time. */
static int64_t view_feed_samples_of(const struct view_feed *f, const struct profile *p,
				    size_t sample)
{
	const int64_t *values = &p->sample_values[sample * p->n_sample_types];
	uint32_t waits;

	if (p->n_sample_types > 2 && !values[f->input.type] && value_types_find_waits(p, &waits))
		return 0;
	/* What is less than before is a sample, too. */
	return values[0] < -INT64_MAX ? INT64_MAX : llabs(values[0]);
}

static int view_feed_count_shown(struct view_feed *f, const struct profile *p, size_t sample)
{
	const int64_t n = view_feed_samples_of(f, p, sample);

	view_feed_count(f, &f->taken, p, sample);
	if (f->has_totals)
		return 0;
	f->input.n_shown = clamped_add(f->input.n_shown, n);
	return view_feed_learn_labels(f, p, &p->samples[sample], n);
}

static int view_feed_sample(struct view_feed *f, struct profile *p, size_t sample)
{
	struct stack stack;
	int r;

	view_feed_count(f, &f->all, p, sample);
	r = shape_stack(f->shape, p, sample, &stack);
	if (r)
		return r == SHAPE_E_DROPPED ? 0 : r;
	r = view_feed_count_shown(f, p, sample);
	if (r || (!stack.n_frames && !f->takes_frameless))
		return r;
	f->input.frames = shape_frames(f->shape, &f->input.n_frames);
	return f->view ? report_view_add(f->view, &f->input, &stack)
		       : shape_profile_add(f->converted, &stack);
}

int view_feed_samples(struct view_feed *f, struct profile *p)
{
	int r = f->is_begun ? 0 : view_feed_begin(f, p);

	r = r ?:
	    shape_bind(f->shape, p) ?:
	    profile_add_text(p, "stack", &f->stack_key) ?:
	    profile_add_text(p, "guessed", &f->guessed) ?:
	    profile_add_text(p, "service", &f->service_key);
	/* Before any filter: what a number means does not depend on which of them are shown. */
	if (!r && f->learns_units && !f->has_totals)
		r = label_units_learn(&f->label_units, p->sample_labels, p->n_sample_labels);
	f->input.profile = p;
	for (size_t i = 0; i < p->n_samples && !r; i++)
		if (!f->is_left_out || !f->is_left_out(f->userdata, p, i))
			r = view_feed_sample(f, p, i);
	return r;
}

int view_feed_end(struct view_feed *f, const struct profile *p)
{
	int r = f->is_begun ? 0 : view_feed_begin(f, p);

	if (r)
		return r;
	f->has_totals = true;
	f->input.total = compare_total(f->is_relative ? &f->taken : &f->all);
	for (uint32_t i = 0; f->of_types && i < p->n_sample_types; i++)
		f->totals[i] = compare_total(&f->of_types[i]);
	f->input.profile = p;
	f->input.services = f->services;
	f->input.n_services = f->services_in.n;
	f->input.frames = shape_frames(f->shape, &f->input.n_frames);
	return 0;
}
