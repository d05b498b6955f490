/* SPDX-License-Identifier: MIT */
/*
 * What is sent of a window is what a merge of some of its samples has: each thing once, and nothing
 * that no sample refers to. Comments, times of samples and defaults of reports are profd's own, and
 * are left out.
 */
#include "client/export/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/cut.h"
#include "client/export/frames.h"
#include "client/export/series.h"
#include "client/export/target.h"
#include "client/export/waits.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "common/room.h"

#define GZIP_LEVEL 6
#define TYPE_MAX   64u /* bytes of the name of a type of values */
#define CPU_NAME   "process_cpu"

struct export_window {
	struct profile *p;
	const struct export_scope *scope;
	const struct export_limits *limits;
	struct export_series series;
	struct export_cut cut;
	uint32_t version; /* string: that of all samples; 0: they have several, or none */
};

static void export_part_deinit(struct export_part *part)
{
	export_labels_deinit(&part->labels);
	free(part->data);
}

void export_parts_deinit(struct export_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		export_part_deinit(&parts->all[i]);
	free(parts->all);
	*parts = (struct export_parts){0};
}

/* --- labels ----------------------------------------------------------------------------------- */

static struct span export_span(const char *text)
{
	return text ? (struct span){text, strlen(text)} : (struct span){"", 0};
}

static bool export_is_cpu(const struct profile *p, const struct profile_value_type *type)
{
	return strcmp(profile_string(p, type->type), "cpu") == 0 &&
	       strcmp(profile_string(p, type->unit), "nanoseconds") == 0;
}

/* What kind of profile it is: servers know process_cpu; others are called by what they count. */
static int export_set_name(const struct profile *p, struct export_labels *labels)
{
	const char *last = profile_string(p, p->sample_types[p->n_sample_types - 1].type);
	cleanup(freep) char *word = export_text_word(export_span(last), TYPE_MAX);

	if (!word)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		if (export_is_cpu(p, &p->sample_types[i]))
			return export_labels_set(labels, export_span("__name__"),
						 export_span(CPU_NAME));
	return export_labels_set(labels, export_span("__name__"),
				 export_span(*word ? word : CPU_NAME));
}

static uint32_t export_sample_version(const struct profile *p, const struct profile_sample *s,
				      uint32_t key)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (p->sample_labels[s->first_label + i].key == key)
			return p->sample_labels[s->first_label + i].str;
	return 0;
}

/* Releases are to be compared, and one that most windows have makes no more series. */
static uint32_t export_find_version(const struct profile *p)
{
	const uint32_t key = profile_find_text(p, EXPORT_VERSION);
	uint32_t version = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const uint32_t is = export_sample_version(p, &p->samples[i], key);

		if (!is || (version && is != version))
			return 0;
		version = is;
	}
	return version;
}

/* The later of two labels with one name counts. */
static int export_make_labels(const struct export_window *w, size_t sample,
			      struct export_labels *labels)
{
	const struct export_scope *s = w->scope;
	int r = export_set_name(w->p, labels) ?:
		export_labels_set(labels, export_span("service_name"), export_span(s->service)) ?:
		export_labels_set(labels, export_span(w->limits->host_label), export_span(s->host)) ?:
		export_labels_set(labels, export_span(EXPORT_VERSION),
				  export_span(profile_string(w->p, w->version))) ?:
		export_labels_set_list(labels, s->labels ? s->labels : "") ?:
		export_series_set_labels(&w->series, w->p, sample, labels);

	if (!r)
		export_labels_sort(labels);
	return r;
}

/* --- profiles --------------------------------------------------------------------------------- */

/* A server's query is of such words, joined by colons; Pyroscope refuses others. */
static int export_fit_type_text(struct profile *p, uint32_t *string)
{
	cleanup(freep) char *word = export_text_word(export_span(profile_string(p, *string)),
						     TYPE_MAX);

	return word ? profile_add_text(p, word, string) : error_origin(-ENOMEM);
}

static int export_fit_type(struct profile *p, struct profile_value_type *type)
{
	return export_fit_type_text(p, &type->type) ?: export_fit_type_text(p, &type->unit);
}

static int export_fit_metadata(struct profile *p)
{
	int r = export_fit_type(p, &p->period_type);

	for (uint32_t i = 0; i < p->n_sample_types && !r; i++)
		r = export_fit_type(p, &p->sample_types[i]);
	profile_clear_comments(p);
	profile_clear_times(p);
	p->default_sample_type = p->drop_frames = p->keep_frames = p->doc_url = 0;
	return r;
}

static int export_select(const struct export_window *w, size_t first, size_t n,
			 struct profile **ret)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int r = merge_new(&m, MERGE_WINDOWS_DROPPED) ?:
		merge_begin(m, w->p, NULL, &message) ?:
		merge_samples(m, first, n, NULL) ?:
		merge_end(m) ?:
		merge_finish(m);

	/* It agrees with itself, and is one window. */
	if (r)
		return r > 0 ? error_origin(-EINVAL) : r;
	*ret = merge_steal_profile(m);
	return 0;
}

static int export_add_part(const struct export_window *w, size_t first, size_t n,
			   struct export_parts *ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(export_part_deinit) struct export_part part = {0};
	int r = export_select(w, first, n, &p) ?:
		export_make_labels(w, first, &part.labels) ?:
		pprof_write(p, GZIP_LEVEL, &part.data, &part.length) ?:
		room_append(&ret->all, &ret->max, &ret->n, part);

	if (!r)
		part = (struct export_part){0};
	return r;
}

static int export_cut_window(struct export_window *w, struct export_parts *ret)
{
	int r = export_cut_init(&w->cut);

	for (size_t first = 0, n; first < w->p->n_samples && !r; first += n) {
		n = export_cut_next(&w->cut, first, export_series_length(&w->series, w->p, first));
		r = export_add_part(w, first, n, ret);
	}
	return r;
}

static uint64_t export_bound(uint64_t wanted, uint64_t most)
{
	if (!wanted || wanted > most)
		return most;
	return wanted < EXPORT_CUT_MIN ? EXPORT_CUT_MIN : wanted;
}

static int export_make_parts(struct profile *window, const struct export_scope *scope,
			     const struct export_limits *limits, struct export_parts *ret)
{
	struct export_window w = {
		.p = window,
		.scope = scope,
		.limits = limits,
		.cut = {.p = window,
			.max_bytes = export_bound(scope->max_part, limits->max_bytes),
			.max_samples = limits->max_samples},
	};
	int r;

	if (!window->n_sample_types)
		return 0;
	w.version = export_find_version(window);
	r = export_fit_metadata(window) ?:
	    export_frames_fit(window) ?:
	    export_series_make(&w.series, window, scope->keep ? scope->keep : "") ?:
	    export_cut_window(&w, ret);
	export_cut_deinit(&w.cut);
	export_series_deinit(&w.series);
	return r;
}

int export_parts_make(struct profile *window, const struct export_scope *scope,
		      const struct export_limits *limits, struct export_parts *ret)
{
	cleanup(profile_freep) struct profile *waits = NULL;
	int r = export_take_waits(window, &waits) ?: export_make_parts(window, scope, limits, ret);

	return r || !waits ? r : export_make_parts(waits, scope, limits, ret);
}
