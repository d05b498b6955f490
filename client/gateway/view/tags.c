/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/units.h"

/* Strings of the profile. */
struct tags_row {
	uint32_t key, value;
	bool is_number;
	int64_t number;
};

struct tags {
	size_t n;
	struct tags_row rows[QUESTION_FILTERS_MAX];
};

struct tag tag_parse(const char *text)
{
	const char *colon = strchr(text, ':');
	struct tag tag = {.key = text, .key_length = (size_t)(colon - text), .value = colon + 1};
	uint64_t number;

	if (!units_parse_number(tag.value, &number) && number <= INT64_MAX) {
		tag.is_number = true;
		tag.number = (int64_t)number;
	}
	return tag;
}

int tags_new(struct tags **ret, const struct question *q, struct profile *p)
{
	cleanup(tags_freep) struct tags *t = calloc(1, sizeof(*t));
	const char *text;
	size_t i = 0;

	if (!t)
		return error_origin(-ENOMEM);
	while ((text = question_next_filter(q, QUESTION_TAG, &i))) {
		const struct tag tag = tag_parse(text);
		struct tags_row *row = &t->rows[t->n++];
		int r = profile_add_string(p, tag.key, tag.key_length, &row->key)
				?: profile_add_text(p, tag.value, &row->value);

		if (r)
			return r;
		row->is_number = tag.is_number;
		row->number = tag.number;
	}
	*ret = steal_ptr(&t);
	return 0;
}

void tags_free(struct tags *t)
{
	free(t);
}

static bool tags_row_matches(const struct tags_row *row, const struct profile_label *l)
{
	if (row->key != l->key)
		return false;
	return l->str ? l->str == row->value : row->is_number && l->num == row->number;
}

/* Whether a row of @key is there in the sample. */
static bool tags_has_one_of(const struct tags *t, uint32_t key, const struct profile *p,
			    const struct profile_sample *s)
{
	for (uint32_t k = 0; k < s->n_labels; k++)
		for (size_t i = 0; i < t->n; i++)
			if (t->rows[i].key == key &&
			    tags_row_matches(&t->rows[i], &p->sample_labels[s->first_label + k]))
				return true;
	return false;
}

bool tags_leave_out(void *userdata, const struct profile *p, size_t sample)
{
	const struct tags *t = userdata;

	for (size_t i = 0; i < t->n; i++)
		if (!tags_has_one_of(t, t->rows[i].key, p, &p->samples[sample]))
			return true;
	return false;
}
