/* SPDX-License-Identifier: MIT */
#include "common/profile/image_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"

int image_profile_new(struct image_profile **ret)
{
	struct image_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return error_origin(-ENOMEM);
	*ret = p;
	return 0;
}

void image_profile_free(struct image_profile *p)
{
	if (!p)
		return;
	free(p->image);
	free(p->epoch);
	free(p->platform);
	free(p->event);
	free(p->path);
	free(p->ledger);
	free(p->unknown);
	free(p->counts);
	free(p);
}

/*
 * Both ascending; the result has every offset once and nothing of count 0. No count passes 32
 * bits, because the total does not. Returns how many there are.
 */
static size_t merge_image_counts(struct image_profile_count *to, const struct image_profile *p,
				 const struct image_profile_count *counts, size_t n_counts)
{
	size_t i = 0, j = 0, n = 0;

	while (i < p->n_counts || j < n_counts) {
		bool ours = i < p->n_counts &&
			    (j == n_counts || p->counts[i].offset <= counts[j].offset);
		bool theirs = j < n_counts &&
			      (i == p->n_counts || counts[j].offset <= p->counts[i].offset);

		to[n].offset = ours ? p->counts[i].offset : counts[j].offset;
		to[n].count = (ours ? p->counts[i].count : 0) + (theirs ? counts[j].count : 0);
		n += to[n].count > 0;
		i += ours;
		j += theirs;
	}
	return n;
}

int image_profile_add(struct image_profile *p, const struct image_profile_count *counts,
		      size_t n_counts)
{
	cleanup(freep) struct image_profile_count *merged = NULL;
	uint64_t total = p->total;
	size_t n;

	for (size_t i = 0; i < n_counts; i++) {
		if (i && counts[i].offset <= counts[i - 1].offset)
			return error_origin(-EINVAL);
		total += counts[i].count;
	}
	if (total > UINT32_MAX)
		return IMAGE_PROFILE_E_OVERFLOW;
	merged = calloc(p->n_counts + n_counts + 1, sizeof(*merged));
	if (!merged)
		return error_origin(-ENOMEM);
	n = merge_image_counts(merged, p, counts, n_counts);
	free(p->counts);
	p->counts = steal_ptr(&merged);
	p->n_counts = n;
	p->total = total;
	return IMAGE_PROFILE_E_OK;
}
