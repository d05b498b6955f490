/* SPDX-License-Identifier: MIT */
/*
 * A key of tagroot or tagleaf makes a frame in every stack: its function is called as the values
 * that the sample has of this key, its file as the key. Equal ones are one place.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/measure.h"
#include "common/profile/shape_private.h"

static int label_frame_equal(const void *owner, uint32_t index, const void *key)
{
	const struct label_frame *a = &((const struct shape *)owner)->label_frames[index];
	const struct label_frame *b = key;

	return a->name == b->name && a->key == b->key;
}

static int add_label_frame(struct shape *s, struct profile *p, const struct label_frame *f)
{
	struct shape_line line = {.function = {.name = f->name, .filename = f->key}};
	const struct shape_spot spot = {.is_label = true};
	int r = shape_make_room(&s->label_frames, &s->max_label_frames, s->n_label_frames + 1,
				sizeof(*s->label_frames));

	if (!r)
		r = profile_table_reserve(&s->label_frame_table);
	if (!r)
		r = shape_match_function(s, profile_string(p, f->name), profile_string(p, f->key),
					 &line.bits);
	if (!r && s->granularity != SHAPE_FUNCTIONS)
		r = shape_clean_file(s, p, f->key, &line.function.filename);
	if (!r)
		r = shape_add_place(s, &s->label_places, &spot, &line, 1);
	if (!r)
		s->label_frames[s->n_label_frames++] = *f;
	return r;
}

static int find_label_frame(struct shape *s, struct profile *p, const struct label_frame *f,
			    uint32_t *ret)
{
	const uint32_t words[] = {f->name, f->key};
	uint32_t hash = profile_hash(&s->hash_key, words, sizeof(words));
	uint32_t index = profile_table_find(&s->label_frame_table, hash, label_frame_equal, s, f);
	int r;

	if (index == PROFILE_NONE) {
		index = (uint32_t)s->n_label_frames;
		r = add_label_frame(s, p, f);
		if (r)
			return r;
		profile_table_insert(&s->label_frame_table, hash, index);
	}
	*ret = index | SHAPE_LABEL_BIT;
	return 0;
}

struct label_set {
	const struct profile_label *all;
	uint32_t n;
};

static bool has_key(const struct profile *p, const struct profile_label *l, const char *key)
{
	return strcmp(profile_string(p, l->key), key) == 0;
}

/* Texts first, then numbers: in the unit that reports are in, if one of them has a unit. */
static void put_values(FILE *out, const struct shape *s, const struct profile *p,
		       const struct label_set *labels, const char *key)
{
	const char *separator = "", *to = "";
	char text[MEASURE_TEXT_MAX];

	for (uint32_t i = 0; i < labels->n; i++) {
		const struct profile_label *l = &labels->all[i];

		if (!has_key(p, l, key))
			continue;
		if (l->str) {
			fprintf(out, "%s%s", separator, profile_string(p, l->str));
			separator = ",";
		} else if (l->num_unit) {
			to = s->unit;
		}
	}
	for (uint32_t i = 0; i < labels->n; i++) {
		const struct profile_label *l = &labels->all[i];

		if (!tag_is_number(l) || !has_key(p, l, key))
			continue;
		fprintf(out, "%s%s", separator,
			measure_print(text, sizeof(text), l->num, profile_string(p, l->num_unit),
				      to));
		separator = ",";
	}
}

static int join_values(const struct shape *s, struct profile *p, const struct label_set *labels,
		       const char *key, uint32_t *ret)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return error_origin(-ENOMEM);
	put_values(out, s, p, labels, key);
	if (fclose(out) != 0)
		return error_origin(-ENOMEM);
	return profile_add_string(p, text, length, ret);
}

int shape_label_frames(struct shape *s, struct profile *p, size_t i, struct shape_keys *keys,
		       uint32_t *chain)
{
	const struct profile_sample *sample = &p->samples[i];
	const struct label_set labels = {
		.all = sample->n_labels ? &p->sample_labels[sample->first_label] : NULL,
		.n = sample->n_labels,
	};

	/* The first key comes next to the root. */
	for (uint32_t j = 0; j < keys->n; j++) {
		const char *key = keys->all[keys->n - 1 - j];
		struct label_frame f;
		int r = join_values(s, p, &labels, key, &f.name);

		if (!r)
			r = profile_add_text(p, key, &f.key);
		if (!r)
			r = find_label_frame(s, p, &f, &chain[j]);
		if (r)
			return r;
		for (uint32_t k = 0; k < labels.n && !keys->matched; k++)
			keys->matched = has_key(p, &labels.all[k], key) &&
					(labels.all[k].str || tag_is_number(&labels.all[k]));
	}
	return 0;
}
