/* SPDX-License-Identifier: MIT */
#include "client/analysis/label_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/memory_text.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"

void label_texts_deinit(struct label_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
}

static int label_texts_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void label_texts_sort(struct label_texts *t)
{
	qsort(t->all, t->n, sizeof(*t->all), label_texts_compare);
}

/* By key; those of one key as they come. */
static int label_texts_compare_labels(const void *a, const void *b)
{
	const struct profile_label *x = *(const struct profile_label *const *)a;
	const struct profile_label *y = *(const struct profile_label *const *)b;

	return order_of(x->key, y->key) ?: order_of(x, y);
}

int label_texts_init(struct label_texts *ret, const struct profile_label *labels, size_t n,
		     bool are_texts, label_texts_print print, const void *context)
{
	cleanup(freep) const struct profile_label **ordered = calloc(n + 1, sizeof(*ordered));
	size_t n_ordered = 0;

	*ret = (struct label_texts){.all = calloc(n + 1, sizeof(*ret->all))};
	if (!ordered || !ret->all)
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
		if (!r)
			r = print(context, ordered + i, end - i, text.out);
		if (!r)
			r = memory_text_close(&text);
		if (r)
			return r;
		ret->all[ret->n++] = steal_ptr(&text.text);
	}
	label_texts_sort(ret);
	return 0;
}
