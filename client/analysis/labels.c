/* SPDX-License-Identifier: MIT */
/*
 * A key's unit is the first one that is met. For texts, the labels of a sample are sorted by key,
 * and those of one key printed together.
 */
#include "client/analysis/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/profile.h"

/* By key; those of one key as they come. */
static int label_texts_compare_labels(const void *a, const void *b)
{
	const struct profile_label *x = *(const struct profile_label *const *)a;
	const struct profile_label *y = *(const struct profile_label *const *)b;

	return order_of(x->key, y->key) ?: order_of(x, y);
}

int label_texts_init(struct texts *ret, const struct profile_label *labels, size_t n,
		     bool are_texts, label_texts_print print, const void *context)
{
	cleanup(freep) const struct profile_label **ordered = calloc(n + 1, sizeof(*ordered));
	size_t n_ordered = 0;

	*ret = (struct texts){0};
	if (!ordered)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (!labels[i].str == !are_texts)
			ordered[n_ordered++] = &labels[i];
	qsort(ordered, n_ordered, sizeof(*ordered), label_texts_compare_labels);
	for (size_t i = 0, end; i < n_ordered; i = end) {
		cleanup(memory_text_deinit) struct memory_text text = {0};
		int r = memory_text_open(&text);

		for (end = i + 1; end < n_ordered && ordered[end]->key == ordered[i]->key;)
			end++;
		r = r ?: print(context, ordered + i, end - i, text.out)
		      ?: memory_text_close(&text)
		      ?: texts_add(ret, steal_ptr(&text.text));
		if (r)
			return r;
	}
	texts_sort(ret, 0);
	return 0;
}

struct label_unit {
	uint32_t key, unit; /* strings */
};

void label_units_deinit(struct label_units *u)
{
	intern_deinit(&u->in);
	free(u->all);
	*u = (struct label_units){0};
}

int label_units_learn(struct label_units *u, const struct profile_label *labels, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		const struct label_unit unit = {labels[i].key, labels[i].num_unit};
		uint32_t index;

		if (!labels[i].str && unit.unit)
			r = intern_add(&u->in, &u->all, &unit, sizeof(unit), sizeof(unit.key),
				       &index);
	}
	return r;
}

const char *label_units_of(const struct label_units *u, const struct profile *p, uint32_t key)
{
	uint32_t i = u ? intern_find(&u->in, u->all, &key, sizeof(*u->all), sizeof(key))
		       : PROFILE_NONE;
	const char *name = profile_string(p, key);

	if (i != PROFILE_NONE)
		return profile_string(p, u->all[i].unit);
	return strcmp(name, "alignment") == 0 || strcmp(name, "request") == 0 ? "bytes" : name;
}
