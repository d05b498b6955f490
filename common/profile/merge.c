/* SPDX-License-Identifier: MIT */
/*
 * A source is begun: its types agree with those that are there (value_types.h), and its windows are
 * listed, of which some are selected. Its samples follow, whose things are translated as they come
 * (translation.h), with their labels sorted. At its end windows and metadata are added up;
 * what a merge says of itself is written when it is finished.
 */
#include "common/profile/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/coverage.h"
#include "common/profile/sample_times.h"
#include "common/profile/translation.h"
#include "common/profile/value_types.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "common/text_print.h"

#define WAKER_LABEL "waker"

/* --- the merge -------------------------------------------------------------------------------- */

struct merge {
	struct profile *p;
	enum merge_windows mode;
	bool takes_common; /* types that not all profiles have are left out */
	bool has_fixed_types, keeps_times, notes_overlap;
	struct translation translation;
	struct profile_windows windows;
	char *ledger;                  /* of all windows */
	int64_t duration_ns, until_ns; /* of all windows; when the last one ended, 0: not known */
	int64_t last_ns;               /* the same, of those that others wrote as well */
	bool has_undated;              /* one of these does not show when it began */
	uint32_t window_key, window_unit;

	/* The profile that is being added. */
	const struct profile *from;
	const struct merge_select *select;
	struct profile_windows from_windows;
	bool *selected;                       /* which of them are */
	double ratios[PROFILE_TYPES_MAX + 1]; /* to the units of @p; last the period's */
	/* Where the values of @p's types are in @from; PROFILE_NONE: they are 0. */
	uint32_t from_types[PROFILE_TYPES_MAX];
	int64_t label_now;                          /* for samples without a label */
	uint32_t from_window, from_pid, from_waker; /* strings; PROFILE_NONE: not in there */

	/* Of one sample. */
	uint32_t *chain;
	size_t max_chain;
	struct profile_label *labels;
	size_t max_labels;
};

int merge_new(struct merge **ret, enum merge_windows windows)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return error_origin(-ENOMEM);
	m->mode = windows;
	*ret = m;
	return 0;
}

void merge_abort(struct merge *m)
{
	translation_end(&m->translation);
	profile_windows_deinit(&m->from_windows);
	free(m->selected);
	m->selected = NULL;
	m->from = NULL;
	m->select = NULL;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	merge_abort(m);
	translation_deinit(&m->translation);
	profile_free(m->p);
	profile_windows_deinit(&m->windows);
	free(m->ledger);
	free(m->chain);
	free(m->labels);
	free(m);
}

void merge_use_common_types(struct merge *m)
{
	m->takes_common = true;
}

void merge_fix_types(struct merge *m)
{
	m->has_fixed_types = true;
}

int merge_add_optional_types(struct merge *m)
{
	const uint32_t n = m->p->n_sample_types;
	uint32_t found;
	int r;

	if (n < 2 || (n == 2 && value_types_find_waits(m->p, &found)))
		return 0;
	r = value_types_add_optional(m->p);
	if (r)
		return r;
	/* A profile that is being added has none of them. */
	m->ratios[m->p->n_sample_types] = m->ratios[n];
	for (uint32_t i = n; i < m->p->n_sample_types; i++) {
		m->from_types[i] = PROFILE_NONE;
		m->ratios[i] = 1;
	}
	return 0;
}

void merge_keep_times(struct merge *m)
{
	m->keeps_times = true;
}

void merge_note_overlap(struct merge *m)
{
	m->notes_overlap = true;
}

/* --- windows ---------------------------------------------------------------------------------- */

static int64_t merge_second_of(const struct profile_windows *windows, size_t i)
{
	return windows->all[i].time_ns / (int64_t)NS_PER_S;
}

static bool merge_selects_window(const struct merge *m, const struct profile_window *w)
{
	uint64_t start_s = (uint64_t)(w->time_ns / (int64_t)NS_PER_S);
	uint64_t seconds = profile_window_seconds((uint64_t)w->time_ns, (uint64_t)w->duration_ns);

	return start_s >= m->select->not_before_s &&
	       profile_window_overlaps(start_s, seconds, m->select->since_ns, m->select->until_ns);
}

/*
 * Found once for all samples: a label names a window's second alone, so that those of one second
 * are selected together. MERGE_E_NOTHING: none; or negative errno.
 */
static int merge_select_windows(struct merge *m)
{
	const struct profile_windows *w = &m->from_windows;
	bool any = false;

	m->selected = calloc(w->n + 1, sizeof(*m->selected));
	if (!m->selected)
		return error_origin(-ENOMEM);
	for (size_t i = 0, end; i < w->n; i = end) {
		bool selected = false;

		for (end = i; end < w->n && merge_second_of(w, end) == merge_second_of(w, i); end++)
			selected |= merge_selects_window(m, &w->all[end]);
		memset(&m->selected[i], selected, end - i);
		any |= selected;
	}
	return any ? MERGE_E_OK : MERGE_E_NOTHING;
}

static bool merge_is_selected(const struct merge *m, int64_t second)
{
	const struct profile_windows *w = &m->from_windows;
	size_t at = partition_point(w->n, i, merge_second_of(w, i) < second);

	return at < w->n && merge_second_of(w, at) == second && m->selected[at];
}

/* The selected ones, their ledgers and durations, and the earliest time. */
static int merge_add_windows(struct merge *m)
{
	const struct profile_windows *from = &m->from_windows;
	bool *added = m->selected;
	int r = profile_windows_merge(&m->windows, from, added);

	for (size_t i = 0; i < from->n && !r; i++) {
		const struct profile_window *w = &from->all[i];
		int64_t until_ns = from->is_listed ? clamped_add(w->time_ns, w->duration_ns)
						   : profile_until_ns(m->from);

		if (!added[i])
			continue;
		if (w->ledger && until_ns > m->until_ns)
			m->until_ns = until_ns;
		if (until_ns > m->last_ns)
			m->last_ns = until_ns;
		m->has_undated |= !w->time_ns;
		r = ledger_line_add(&m->ledger, w->ledger);
		m->duration_ns = clamped_add(m->duration_ns, w->duration_ns);
		if (w->time_ns && (!m->p->time_ns || w->time_ns < m->p->time_ns))
			m->p->time_ns = w->time_ns;
	}
	return r;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* What is left of a stack that had kernel frames only. */
static int add_kernel_placeholder(struct merge *m, uint32_t *ret)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	int r = profile_add_text(m->p, "[kernel]", &function.name);

	if (r)
		return r;
	function.system_name = function.name;
	return profile_add_function(m->p, &function, &line.function)
		       ?: profile_add_location(m->p, PROFILE_NONE, 0, &line, 1, ret);
}

static int merge_copy_chain(struct merge *m, const struct profile_sample *s, uint32_t *ret_n)
{
	const uint32_t *chain = s->n_locations ? &m->from->sample_locations[s->first_location]
					       : NULL;
	uint32_t n = 0;
	int r = room_make(&m->chain, &m->max_chain, (size_t)s->n_locations + 1, sizeof(*m->chain));

	for (uint32_t i = 0; i < s->n_locations && !r; i++) {
		if (m->select->is_restricted &&
		    profile_is_kernel_location(m->from, &m->from->locations[chain[i]]))
			continue;
		r = translation_add_location(&m->translation, chain[i], &m->chain[n++]);
	}
	if (!r && !n && s->n_locations)
		r = add_kernel_placeholder(m, &m->chain[n++]);
	*ret_n = n;
	return r;
}

static bool labels_are_sorted(const struct profile_label *labels, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (labels[i].key < labels[i - 1].key)
			return false;
	return true;
}

/* By key; of one key as they are in @labels. */
static int compare_labels(const void *a, const void *b, void *labels)
{
	const struct profile_label *all = labels;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return order_of(all[x].key, all[y].key) ?: order_of(x, y);
}

/*
 * So that the order in a file makes no difference. There is as much room again behind the @n
 * labels. A stranger's samples may have 10^5 of them.
 */
static int sort_labels(struct profile_label *labels, uint32_t n)
{
	cleanup(freep) uint32_t *order = NULL;

	if (labels_are_sorted(labels, n))
		return 0;
	order = calloc(n, sizeof(*order));
	if (!order)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_labels, labels);
	for (uint32_t i = 0; i < n; i++)
		labels[n + i] = labels[order[i]];
	memcpy(labels, labels + n, n * sizeof(*labels));
	return 0;
}

static int merge_copy_labels(struct merge *m, const struct profile_sample *s, uint32_t *ret_n)
{
	bool has_window = false;
	uint32_t n = 0;
	int r = room_make(&m->labels, &m->max_labels, 2 * ((size_t)s->n_labels + 1),
			  sizeof(*m->labels));

	for (uint32_t i = 0; i < s->n_labels && !r; i++) {
		struct profile_label l = m->from->sample_labels[s->first_label + i];

		if (l.key == m->from_window) {
			has_window = true;
			if (m->mode == MERGE_WINDOWS_DROPPED)
				continue;
		}
		if (l.key == m->from_waker && m->select->is_restricted)
			continue;
		r = translation_add_string(&m->translation, l.key, &l.key) ?:
		    translation_add_string(&m->translation, l.str, &l.str) ?:
		    translation_add_string(&m->translation, l.num_unit, &l.num_unit);
		if (!r)
			m->labels[n++] = l;
	}
	if (r)
		return r;
	if (!has_window && m->mode == MERGE_WINDOWS_SET)
		m->labels[n++] = (struct profile_label){.key = m->window_key,
							.num_unit = m->window_unit,
							.num = m->label_now};
	*ret_n = n;
	return sort_labels(m->labels, n);
}

static bool merge_wants_sample(const struct merge *m, const struct profile_sample *s)
{
	const struct profile_label *labels = s->n_labels ? &m->from->sample_labels[s->first_label]
							 : NULL;
	bool has_pid = !m->select->has_pid;

	for (uint32_t i = 0; i < s->n_labels; i++) {
		if (labels[i].str)
			continue;
		if (m->from_windows.is_listed && labels[i].key == m->from_window &&
		    !merge_is_selected(m, labels[i].num))
			return false;
		if (labels[i].key == m->from_pid && labels[i].num == m->select->pid)
			has_pid = true;
	}
	return has_pid;
}

static bool merge_scale_values(const struct merge *m, size_t sample, int64_t ret[PROFILE_TYPES_MAX])
{
	const int64_t *values = &m->from->sample_values[sample * m->from->n_sample_types];
	bool any = false;

	for (uint32_t i = 0; i < m->p->n_sample_types; i++) {
		const uint32_t type = m->from_types[i];

		ret[i] = type == PROFILE_NONE ? 0 : compare_scaled(values[type], m->ratios[i]);
		any |= ret[i] != 0;
	}
	return any;
}

int merge_samples(struct merge *m, size_t first, size_t n, int64_t *ret_samples)
{
	const struct profile *from = m->from;
	size_t end = n < from->n_samples - first ? first + n : from->n_samples;
	int64_t samples = 0;

	for (size_t i = first; i < end && from->n_sample_types; i++) {
		const struct profile_sample *s = &from->samples[i];
		int64_t values[PROFILE_TYPES_MAX];
		uint32_t n_chain, n_labels;
		int r;

		if (!merge_scale_values(m, i, values) || !merge_wants_sample(m, s))
			continue;
		r = merge_copy_chain(m, s, &n_chain) ?:
		    merge_copy_labels(m, s, &n_labels) ?:
		    profile_add_sample(m->p, m->chain, n_chain, values, m->labels, n_labels);
		if (!r && m->keeps_times)
			r = profile_copy_times(m->p, profile_last_sample(m->p), from, (uint32_t)i);
		if (r)
			return r;
		samples = clamped_add(samples, values[0]);
	}
	if (ret_samples)
		*ret_samples = samples;
	return 0;
}

/* --- sources ---------------------------------------------------------------------------------- */

static int merge_keep_first_text(struct merge *m, uint32_t string, uint32_t *to)
{
	return *to ? 0 : translation_add_string(&m->translation, string, to);
}

static int merge_add_metadata(struct merge *m)
{
	const struct profile *from = m->from;
	int64_t period = compare_scaled(from->period, m->ratios[m->p->n_sample_types]);
	int r;

	if (period > m->p->period)
		m->p->period = period;
	r = merge_keep_first_text(m, from->default_sample_type, &m->p->default_sample_type)
		    ?: merge_keep_first_text(m, from->doc_url, &m->p->doc_url);
	for (size_t i = 0; i < from->n_comments && !r; i++) {
		const char *comment = profile_string(from, from->comments[i]);

		if (!profile_windows_is_line(comment) &&
		    !(m->keeps_times && profile_coverage_is_line(comment)))
			r = profile_add_comment(m->p, comment);
	}
	return r;
}

/* The types of the first source, and the texts that a merge needs. */
static int merge_begin_profile(struct merge *m)
{
	const struct profile *from = m->from;
	struct profile *p;
	int r = profile_new(&m->p);

	if (r)
		return r;
	p = m->p;
	for (uint32_t i = 0; i < from->n_sample_types && !r; i++)
		r = profile_add_sample_type(p, profile_string(from, from->sample_types[i].type),
					    profile_string(from, from->sample_types[i].unit));
	if (!r)
		r = profile_add_text(p, profile_string(from, from->period_type.type),
				     &p->period_type.type) ?:
		    profile_add_text(p, profile_string(from, from->period_type.unit),
				     &p->period_type.unit) ?:
		    profile_add_text(p, profile_string(from, from->drop_frames), &p->drop_frames) ?:
		    profile_add_text(p, profile_string(from, from->keep_frames), &p->keep_frames);
	if (r || m->mode != MERGE_WINDOWS_SET)
		return r;
	return profile_add_text(p, WINDOWS_LABEL, &m->window_key)
		       ?: profile_add_text(p, "seconds", &m->window_unit);
}

/*
 * Reduces m->p to the types that m->from has, too, unless there are none: *ret_any. A profile that
 * loses some has a default.
 */
static int merge_share_types(struct merge *m, bool *ret_any)
{
	const struct profile *from = m->from;
	uint32_t kept[PROFILE_TYPES_MAX], dflt = 0;
	uint32_t n = value_types_common(m->p, from, kept, m->from_types);
	bool same = n == from->n_sample_types;
	int r;

	*ret_any = n || (!m->p->n_sample_types && !from->n_sample_types);
	if (!*ret_any)
		return 0;
	r = value_types_reduce(m->p, kept, n);
	for (uint32_t i = 0; i < n; i++) {
		same &= m->from_types[i] == i;
		if (from->sample_types[m->from_types[i]].type == from->default_sample_type)
			dflt = i;
	}
	if (!r && !same && !m->p->default_sample_type)
		m->p->default_sample_type = m->p->sample_types[dflt].type;
	return r;
}

static int merge_agree_types(struct merge *m, struct profile_message *message)
{
	bool any = false;
	int r = 0;

	for (uint32_t i = 0; i < PROFILE_TYPES_MAX; i++)
		m->from_types[i] = i;
	if (m->p->n_sample_types)
		r = value_types_unite(m->p, m->from, m->has_fixed_types, &any, m->from_types);
	if (!r && !any && m->takes_common)
		r = merge_share_types(m, &any);
	if (!r)
		r = value_types_agree(m->p, m->from, any ? m->from_types : NULL, m->ratios,
				      message);
	return r == VALUE_TYPES_E_MISMATCH ? MERGE_E_MISMATCH : r;
}

static int merge_begin_source(struct merge *m, struct profile_message *message)
{
	uint32_t main_mapping;
	int r = profile_windows_of(m->from, &m->from_windows) ?: merge_select_windows(m);

	if (!r && !m->p)
		r = merge_begin_profile(m);
	if (!r)
		r = merge_agree_types(m, message)
			    ?: translation_begin(&m->translation, m->p, m->from);
	if (r)
		return r;
	/* Samples may come later: all that is known of keys is that they are strings. */
	m->from_window = profile_find_text(m->from, WINDOWS_LABEL);
	m->from_waker = profile_find_text(m->from, WAKER_LABEL);
	m->from_pid = m->select->has_pid ? profile_find_text(m->from, "pid") : PROFILE_NONE;
	m->label_now = m->from->time_ns / (int64_t)NS_PER_S;
	/* The first mapping is the program, by convention. */
	if (!m->p->n_mappings && m->from->n_mappings && !m->select->has_pid)
		r = translation_add_mapping(&m->translation, 0, &main_mapping);
	return r;
}

int merge_begin(struct merge *m, const struct profile *from, const struct merge_select *select,
		struct profile_message *message)
{
	static const struct merge_select everything = {0};
	int r;

	m->from = from;
	m->select = select ? select : &everything;
	r = merge_begin_source(m, message);
	if (r)
		merge_abort(m);
	return r;
}

int merge_end(struct merge *m)
{
	int r = merge_add_windows(m) ?: merge_add_metadata(m);

	merge_abort(m);
	return r;
}

int merge_add(struct merge *m, const struct profile *from, const struct merge_select *select,
	      int64_t *ret_samples, struct profile_message *message)
{
	int64_t samples = 0;
	int r = merge_begin(m, from, select, message) ?:
		merge_samples(m, 0, SIZE_MAX, &samples) ?:
		merge_end(m);

	if (r && r != MERGE_E_NOTHING) {
		merge_abort(m);
		return r;
	}
	if (ret_samples)
		*ret_samples = samples;
	return MERGE_E_OK;
}

/* --- the result ------------------------------------------------------------------------------- */

struct profile *merge_profile(struct merge *m)
{
	return m->p;
}

size_t merge_bytes(const struct merge *m)
{
	size_t bytes = sizeof(*m) + (m->p ? profile_bytes(m->p) : 0) +
		       m->windows.capacity * sizeof(*m->windows.all);

	for (size_t i = 0; i < m->windows.n; i++)
		bytes += m->windows.all[i].ledger ? strlen(m->windows.all[i].ledger) + 16 : 0;
	return bytes;
}

size_t merge_n_windows(const struct merge *m)
{
	return m->windows.n;
}

/* Durations of windows that overlap, as those of other tools may, add up to more than they span. */
static int64_t merge_find_until(const struct merge *m)
{
	int64_t end_ns = clamped_add(m->p->time_ns, m->p->duration_ns);

	if (m->notes_overlap && !m->has_undated && m->last_ns < end_ns)
		return m->last_ns;
	return m->until_ns > end_ns ? m->until_ns : end_ns;
}

int merge_finish(struct merge *m)
{
	cleanup(freep) char *line = NULL;
	int r = 0;

	m->p->duration_ns = m->duration_ns;
	if (m->ledger)
		r = text_print(&line, "# profd ledger: %s", m->ledger)
			    ?: profile_add_comment(m->p, line);
	if (!r && m->mode == MERGE_WINDOWS_SET)
		r = profile_windows_list(&m->windows, m->p);
	else if (!r && m->keeps_times)
		r = profile_coverage_list(&m->windows, m->p);
	return r ?: profile_set_until(m->p, merge_find_until(m));
}

struct profile *merge_steal_profile(struct merge *m)
{
	return steal_ptr(&m->p);
}

/* --- a profile alone -------------------------------------------------------------------------- */

/* What is said of the profile as a whole. */
static int apply_merged_metadata(struct profile *p, const struct profile *merged)
{
	int r = 0;

	p->time_ns = merged->time_ns;
	p->duration_ns = merged->duration_ns;
	p->period = merged->period;
	profile_clear_comments(p);
	for (size_t i = 0; i < merged->n_comments && !r; i++)
		r = profile_add_comment(p, profile_string(merged, merged->comments[i]));
	profile_settle(p);
	return r;
}

int merge_single_profile(struct profile *p)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	return merge_new(&m, MERGE_WINDOWS_KEPT) ?:
	       merge_begin(m, p, NULL, &message) ?:
	       merge_end(m) ?:
	       merge_finish(m) ?:
	       apply_merged_metadata(p, m->p);
}
