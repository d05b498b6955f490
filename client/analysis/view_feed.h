/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_VIEW_FEED_H
#define PROFD_CLIENT_ANALYSIS_VIEW_FEED_H

/*
 * From samples to a view: each goes through the shape, is counted, and is given to the view. What
 * is known from all samples only (totals, services, units of labels) is in the view's input once
 * they were there once; then they may come again.
 *
 *	do
 *		for each batch: view_feed_samples(&feed, profile);
 *		view_feed_end(&feed, profile);
 *	while (report_view_end(feed.view, &feed.input, out) == VIEW_E_AGAIN);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/labels.h"
#include "client/analysis/view.h"
#include "common/profile/intern.h"
#include "common/profile/value_types.h"

struct shape;
struct shape_profile;

/* All zero but for what the caller sets; what it sets is borrowed. */
struct view_feed {
	struct shape *shape;
	struct view *view;               /* what takes the stacks: it, or */
	struct shape_profile *converted; /* this */
	/* Which samples are left out before anything else, and are in no total; NULL: none. */
	bool (*is_left_out)(void *userdata, const struct profile *p, size_t sample);
	void *userdata;
	bool is_relative;        /* percentages are of what the filters leave */
	bool takes_frameless;    /* samples that have no frames as well */
	bool learns_units;       /* of labels */
	struct view_input input; /* type, mean and notes are the caller's */

	/* Private. */
	struct compare_total all, taken; /* before and after the filters */
	struct compare_total *of_types;  /* as either of them, per sample type; NULL: no matter */
	int64_t *totals;
	struct label_units label_units;
	uint32_t stack_key, guessed, service_key; /* strings: labels that the header is of */
	uint32_t *services;
	struct intern services_in;
	bool is_begun, has_totals;
};

/* The shape and the view are the caller's. */
void view_feed_deinit(struct view_feed *f);
/* Samples of one profile, in batches. 0 or negative errno. */
int view_feed_samples(struct view_feed *f, struct profile *p);
/* All samples were there. 0 or negative errno. */
int view_feed_end(struct view_feed *f, const struct profile *p);

#endif
