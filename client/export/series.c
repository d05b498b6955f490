/* SPDX-License-Identifier: MIT */
/*
 * First each sample keeps the labels that are asked for, in their order; then equal samples are
 * added up; then they are sorted by the number of their series, which is that of its first sample,
 * so that the same window has the same order each time.
 */
#include "client/export/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"

void export_series_deinit(struct export_series *s)
{
	intern_deinit(&s->known);
	free(s->all);
	free(s->of_sample);
}

static int export_series_add(struct export_series *s, const struct export_series_key *key,
			     uint32_t *ret)
{
	return intern_add(&s->known, &s->all, key, sizeof(*key), sizeof(*key), ret);
}

static void export_series_parse_keep(struct export_series *s, const struct profile *p,
				     const char *keep)
{
	struct span rest = {keep, strlen(keep)}, name;

	while (s->n_keys < EXPORT_KEEP_MAX && span_cut(&rest, ',', &name)) {
		char text[EXPORT_LABEL_NAME_MAX + 1];

		name = span_trim(name);
		if (!name.length || name.length >= sizeof(text))
			continue;
		memcpy(text, name.at, name.length);
		text[name.length] = '\0';
		s->names[s->n_keys] = name;
		s->keys[s->n_keys] = profile_find_text(p, text);
		s->n_keys += s->keys[s->n_keys] != PROFILE_NONE;
	}
}

/* The first label with that key; NULL: there is none. */
static const struct profile_label *
export_series_find_label(const struct profile *p, const struct profile_sample *s, uint32_t key)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (p->sample_labels[s->first_label + i].key == key)
			return &p->sample_labels[s->first_label + i];
	return NULL;
}

static struct export_series_key export_series_key_of(const struct export_series *s,
						     const struct profile *p, size_t sample)
{
	struct export_series_key key = {0};

	for (size_t i = 0; i < s->n_keys; i++) {
		const struct profile_label *l = export_series_find_label(p, &p->samples[sample],
									 s->keys[i]);

		if (l)
			key.kept[i] = (struct export_kept){l->str ? 0 : l->num, l->str, 1};
	}
	return key;
}

/* There are no more labels than there were. */
static void export_series_set_sample(const struct export_series *s, struct profile *p,
				     size_t sample, const struct export_series_key *key)
{
	struct profile_sample *of = &p->samples[sample];
	struct profile_label *labels = &p->sample_labels[of->first_label];

	of->n_labels = 0;
	for (size_t i = 0; i < s->n_keys; i++)
		if (key->kept[i].is_there)
			labels[of->n_labels++] = (struct profile_label){.key = s->keys[i],
									.str = key->kept[i].text,
									.num = key->kept[i].number};
}

static int export_series_keep_labels(struct export_series *s, struct profile *p)
{
	static const struct export_series_key none = {0};
	uint32_t number;
	int r = export_series_add(s, &none, &number);

	for (size_t i = 0; i < p->n_samples && !r; i++) {
		struct export_series_key key = export_series_key_of(s, p, i);

		if (s->known.n >= EXPORT_SERIES_MAX &&
		    intern_find(&s->known, s->all, &key, sizeof(key), sizeof(key)) == PROFILE_NONE)
			key = none;
		r = export_series_add(s, &key, &number);
		if (!r && p->samples[i].n_labels)
			export_series_set_sample(s, p, i, &key);
	}
	return r;
}

static int export_compare_series(const void *a, const void *b, void *of_sample)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b, *series = of_sample;

	return order_of(series[x], series[y]) ?: order_of(x, y);
}

/* @of_sample: the series of each sample before. */
static int export_series_sort(struct export_series *s, struct profile *p, uint32_t *of_sample)
{
	const size_t n = p->n_samples, size = p->n_sample_types * sizeof(*p->sample_values);
	cleanup(freep) uint32_t *order = malloc((n + 1) * sizeof(*order));
	cleanup(freep) struct profile_sample *samples = malloc((n + 1) * sizeof(*samples));
	cleanup(freep) char *values = malloc(n * size + 1);

	if (!order || !samples || !values)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), export_compare_series, of_sample);
	for (size_t i = 0; i < n; i++) {
		samples[i] = p->samples[order[i]];
		samples[i].n_labels = 0;
		memcpy(values + i * size, (const char *)p->sample_values + order[i] * size, size);
		s->of_sample[i] = of_sample[order[i]];
	}
	if (n) {
		memcpy(p->samples, samples, n * sizeof(*samples));
		memcpy(p->sample_values, values, n * size);
	}
	return 0;
}

int export_series_make(struct export_series *s, struct profile *p, const char *keep)
{
	cleanup(freep) uint32_t *of_sample = NULL;
	int r;

	export_series_parse_keep(s, p, keep);
	r = export_series_keep_labels(s, p) ?: profile_repack_samples(p);
	if (r)
		return r;
	of_sample = malloc((p->n_samples + 1) * sizeof(*of_sample));
	s->of_sample = malloc((p->n_samples + 1) * sizeof(*s->of_sample));
	if (!of_sample || !s->of_sample)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples && !r; i++) {
		struct export_series_key key = export_series_key_of(s, p, i);

		r = export_series_add(s, &key, &of_sample[i]);
	}
	return r ?: export_series_sort(s, p, of_sample);
}

size_t export_series_length(const struct export_series *s, const struct profile *p, size_t first)
{
	size_t end = first;

	while (end < p->n_samples && s->of_sample[end] == s->of_sample[first])
		end++;
	return end - first;
}

int export_series_set_labels(const struct export_series *s, const struct profile *p, size_t sample,
			     struct export_labels *labels)
{
	const struct export_series_key *key = &s->all[s->of_sample[sample]];
	int r = 0;

	for (size_t i = 0; i < s->n_keys && !r; i++) {
		const struct export_kept *kept = &key->kept[i];
		const char *text = profile_string(p, kept->text);
		char number[24];

		if (!kept->is_there)
			continue;
		snprintf(number, sizeof(number), "%" PRId64, kept->number);
		if (!kept->text)
			text = number;
		r = export_labels_set(labels, s->names[i], (struct span){text, strlen(text)});
	}
	return r;
}
