/* SPDX-License-Identifier: MIT */
#include "client/analysis/label_order.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"

static int label_order_compare(const void *a, const void *b)
{
	const struct profile_label *x = *(const struct profile_label *const *)a;
	const struct profile_label *y = *(const struct profile_label *const *)b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x < y ? -1 : x > y;
}

int label_order(const struct profile_label *labels, size_t n, bool are_texts,
		const struct profile_label ***ret, size_t *ret_n)
{
	const struct profile_label **ordered = calloc(n + 1, sizeof(*ordered));
	size_t n_ordered = 0;

	if (!ordered)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (!labels[i].str == !are_texts)
			ordered[n_ordered++] = &labels[i];
	qsort(ordered, n_ordered, sizeof(*ordered), label_order_compare);
	*ret = ordered;
	*ret_n = n_ordered;
	return 0;
}

size_t label_order_same(const struct profile_label *const *ordered, size_t n)
{
	size_t same = 1;

	while (same < n && ordered[same]->key == ordered[0]->key)
		same++;
	return same;
}
