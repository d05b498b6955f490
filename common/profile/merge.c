/* SPDX-License-Identifier: MIT */
#include "common/profile/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/compare.h"
#include "common/profile/merge_private.h"

#define KERNEL_HALF (UINT64_C(1) << 63)

int merge_new(struct merge **ret, enum merge_windows windows)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return error_origin(-ENOMEM);
	m->mode = windows;
	profile_hash_key_init(&m->hash_key);
	*ret = m;
	return 0;
}

static void merge_forget_source(struct merge *m)
{
	freep(&m->strings);
	freep(&m->map_mappings);
	freep(&m->map_functions);
	freep(&m->map_locations);
	freep(&m->selected);
	m->strings = m->map_mappings = m->map_functions = m->map_locations = NULL;
	m->selected = NULL;
	profile_windows_deinit(&m->from_windows);
	m->from = NULL;
	m->select = NULL;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	merge_forget_source(m);
	profile_free(m->p);
	profile_table_deinit(&m->mappings);
	profile_windows_deinit(&m->windows);
	free(m->ledger);
	free(m->chain);
	free(m->labels);
	free(m->lines);
	free(m);
}

static int new_map(uint32_t **ret, size_t n)
{
	*ret = malloc((n + 1) * sizeof(**ret));
	if (!*ret)
		return error_origin(-ENOMEM);
	memset(*ret, 0xff, (n + 1) * sizeof(**ret));
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static bool merge_is_kernel(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	if (l->mapping != PROFILE_NONE && p->mappings[l->mapping].start >= KERNEL_HALF)
		return true;
	return l->address >= KERNEL_HALF;
}

/* What is left of a stack that had kernel frames only. */
static int add_kernel_placeholder(struct merge *m, uint32_t *ret)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	int r;

	r = profile_add_text(m->p, "[kernel]", &function.name);
	if (r)
		return r;
	function.system_name = function.name;
	r = profile_add_function(m->p, &function, &line.function);
	return r ? r : profile_add_location(m->p, PROFILE_NONE, 0, &line, 1, ret);
}

static int merge_copy_chain(struct merge *m, const struct profile_sample *s, uint32_t *ret_n)
{
	const uint32_t *chain = s->n_locations ? &m->from->sample_locations[s->first_location]
					       : NULL;
	uint32_t n = 0;
	int r = room_make(&m->chain, &m->max_chain, (size_t)s->n_locations + 1, sizeof(*m->chain));

	for (uint32_t i = 0; i < s->n_locations && !r; i++) {
		if (m->select->no_kernel && merge_is_kernel(m->from, chain[i]))
			continue;
		r = merge_translate_location(m, chain[i], &m->chain[n++]);
	}
	if (!r && !n && s->n_locations)
		r = add_kernel_placeholder(m, &m->chain[n++]);
	*ret_n = n;
	return r;
}

void merge_use_common_types(struct merge *m)
{
	m->takes_common = true;
}

static bool labels_are_sorted(const struct profile_label *labels, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (labels[i].key < labels[i - 1].key)
			return false;
	return true;
}

/* Each two runs of @width labels become one. */
static void merge_runs(const struct profile_label *from, struct profile_label *to, size_t width,
		       size_t n)
{
	for (size_t left = 0; left < n; left += 2 * width) {
		size_t middle = left + width < n ? left + width : n;
		size_t end = middle + width < n ? middle + width : n;
		size_t a = left, b = middle;

		for (size_t i = left; i < end; i++) {
			bool is_a = a < middle && (b == end || from[a].key <= from[b].key);

			to[i] = from[is_a ? a++ : b++];
		}
	}
}

/*
 * By key, so that the order in a file does not tell samples apart. Equal keys keep theirs. There is
 * as much room again behind the @n labels. A stranger's samples may have 10^5 of them.
 */
static void sort_labels(struct profile_label *labels, uint32_t n)
{
	struct profile_label *from = labels, *to = labels + n, *swap;

	if (labels_are_sorted(labels, n))
		return;
	for (size_t width = 1; width < n; width *= 2) {
		merge_runs(from, to, width, n);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != labels)
		memcpy(labels, from, n * sizeof(*labels));
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
		r = merge_translate_string(m, l.key, &l.key);
		if (!r)
			r = merge_translate_string(m, l.str, &l.str);
		if (!r)
			r = merge_translate_string(m, l.num_unit, &l.num_unit);
		if (!r)
			m->labels[n++] = l;
	}
	if (r)
		return r;
	if (!has_window && m->mode == MERGE_WINDOWS_SET)
		m->labels[n++] = (struct profile_label){.key = m->window_key,
							.num_unit = m->window_unit,
							.num = m->label_now};
	sort_labels(m->labels, n);
	*ret_n = n;
	return 0;
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

static bool merge_values_are_zero(const int64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i])
			return false;
	return true;
}

static int merge_copy_samples(struct merge *m, size_t first, size_t n, int64_t *ret_samples)
{
	const struct profile *from = m->from;
	size_t end = n < from->n_samples - first ? first + n : from->n_samples;

	if (!from->n_sample_types)
		return 0;
	for (size_t i = first; i < end; i++) {
		const struct profile_sample *s = &from->samples[i];
		int64_t values[PROFILE_TYPES_MAX];
		uint32_t n_chain, n_labels;
		int r;

		for (uint32_t j = 0; j < m->p->n_sample_types; j++)
			values[j] = compare_scaled(
				from->sample_values[i * from->n_sample_types + m->from_types[j]],
				m->ratios[j]);
		if (merge_values_are_zero(values, m->p->n_sample_types) ||
		    !merge_wants_sample(m, s))
			continue;
		r = merge_copy_chain(m, s, &n_chain);
		if (!r)
			r = merge_copy_labels(m, s, &n_labels);
		if (!r)
			r = profile_add_sample(m->p, m->chain, n_chain, values, m->labels,
					       n_labels);
		if (r)
			return r;
		*ret_samples = clamped_add(*ret_samples, values[0]);
	}
	return 0;
}

/* --- the profile itself ----------------------------------------------------------------------- */

static int merge_keep_first_text(struct merge *m, uint32_t string, uint32_t *to)
{
	return *to ? 0 : merge_translate_string(m, string, to);
}

static int merge_add_metadata(struct merge *m)
{
	const struct profile *from = m->from;
	int64_t period = compare_scaled(from->period, m->period_ratio);
	int r;

	if (period > m->p->period)
		m->p->period = period;
	r = merge_keep_first_text(m, from->default_sample_type, &m->p->default_sample_type);
	if (!r)
		r = merge_keep_first_text(m, from->doc_url, &m->p->doc_url);
	for (size_t i = 0; i < from->n_comments && !r; i++) {
		const char *comment = profile_string(from, from->comments[i]);

		if (!profile_windows_is_line(comment))
			r = profile_add_comment(m->p, comment);
	}
	return r;
}

/* Samples may come later: all that is known of keys is that they are strings. */
static uint32_t find_key(const struct profile *p, const char *key)
{
	size_t n = profile_n_strings(p);

	for (size_t i = 0; i < n; i++)
		if (strcmp(profile_string(p, (uint32_t)i), key) == 0)
			return (uint32_t)i;
	return PROFILE_NONE;
}

static int merge_prepare_maps(struct merge *m)
{
	const struct profile *from = m->from;
	int r = new_map(&m->strings, profile_n_strings(from));

	if (!r)
		r = new_map(&m->map_mappings, from->n_mappings);
	if (!r)
		r = new_map(&m->map_functions, from->n_functions);
	if (!r)
		r = new_map(&m->map_locations, from->n_locations);
	m->from_window = find_key(from, WINDOWS_LABEL);
	m->from_pid = m->select->has_pid ? find_key(from, "pid") : PROFILE_NONE;
	m->label_now = from->time_ns / (int64_t)NS_PER_S;
	return r;
}

static int merge_begin_source(struct merge *m, struct profile_message *message)
{
	uint32_t main_mapping;
	int r = profile_windows_of(m->from, &m->from_windows);

	if (!r)
		r = merge_select_windows(m);
	if (!r && !m->p)
		r = merge_begin_types(m);
	if (!r)
		r = merge_agree_types(m, message);
	if (!r)
		r = merge_prepare_maps(m);
	/* The first mapping is the program, by convention. */
	if (!r && !m->p->n_mappings && m->from->n_mappings && !m->select->has_pid)
		r = merge_translate_mapping(m, 0, &main_mapping);
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
		merge_forget_source(m);
	return r;
}

int merge_samples(struct merge *m, size_t first, size_t n, int64_t *ret_samples)
{
	int64_t samples = 0;
	int r = merge_copy_samples(m, first, n, &samples);

	if (r)
		return r;
	if (ret_samples)
		*ret_samples = samples;
	return 0;
}

int merge_end(struct merge *m)
{
	int r = merge_add_windows(m);

	if (!r)
		r = merge_add_metadata(m);
	merge_forget_source(m);
	return r;
}

void merge_abort(struct merge *m)
{
	merge_forget_source(m);
}

int merge_add(struct merge *m, const struct profile *from, const struct merge_select *select,
	      int64_t *ret_samples, struct profile_message *message)
{
	int64_t samples = 0;
	int r = merge_begin(m, from, select, message);

	if (!r)
		r = merge_samples(m, 0, SIZE_MAX, &samples);
	if (!r)
		r = merge_end(m);
	if (r == MERGE_E_NOTHING)
		r = MERGE_E_OK;
	merge_forget_source(m);
	if (!r && ret_samples)
		*ret_samples = samples;
	return r;
}

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

int merge_finish(struct merge *m)
{
	cleanup(freep) char *line = NULL;
	int r = 0;

	m->p->duration_ns = m->duration_ns;
	if (m->ledger) {
		if (asprintf(&line, "# profd ledger: %s", m->ledger) < 0) {
			line = NULL;
			return error_origin(-ENOMEM);
		}
		r = profile_add_comment(m->p, line);
	}
	if (!r && m->mode == MERGE_WINDOWS_SET)
		r = profile_windows_list(&m->windows, m->p);
	return r;
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
	int r = merge_new(&m, MERGE_WINDOWS_KEPT);

	if (!r)
		r = merge_begin(m, p, NULL, &message);
	if (!r)
		r = merge_end(m);
	if (!r)
		r = merge_finish(m);
	return r ? r : apply_merged_metadata(p, m->p);
}
