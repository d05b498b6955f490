/* SPDX-License-Identifier: MIT */
#include "client/export/waits.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/value_types.h"

/* All samples with waits, with all their values. */
static int export_copy_waits(const struct profile *window, uint32_t waits, struct profile **ret)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int r = merge_new(&m, MERGE_WINDOWS_KEPT) ?: merge_begin(m, window, NULL, &message);

	for (size_t i = 0; i < window->n_samples && !r; i++)
		if (window->sample_values[i * window->n_sample_types + waits])
			r = merge_samples(m, i, 1, NULL);
	r = r ?: merge_end(m) ?: merge_finish(m);
	if (!r)
		*ret = merge_steal_profile(m);
	/* It agrees with itself, and is one window. */
	return r > 0 ? error_origin(-EINVAL) : r;
}

/* What is left: samples that are waits alone go, and the type of all. */
static int export_drop_waits(struct profile *window, uint32_t waits)
{
	const uint32_t n = window->n_sample_types;
	uint32_t kept[PROFILE_TYPES_MAX], n_kept = 0;

	for (size_t i = 0; i < window->n_samples; i++)
		if (value_types_is_wait(window, i))
			memset(&window->sample_values[i * n], 0, n * sizeof(int64_t));
	for (uint32_t i = 0; i < n; i++)
		if (i != waits)
			kept[n_kept++] = i;
	return value_types_reduce(window, kept, n_kept);
}

int export_take_waits(struct profile *window, struct profile **ret)
{
	cleanup(profile_freep) struct profile *taken = NULL;
	uint32_t waits;
	int r;

	*ret = NULL;
	if (window->n_sample_types < 3 || !value_types_find_waits(window, &waits))
		return 0;
	r = export_copy_waits(window, waits, &taken) ?: export_drop_waits(window, waits);
	if (r || !taken->n_samples)
		return r;
	taken->period_type = taken->sample_types[waits];
	r = value_types_reduce(taken, (uint32_t[]){0, waits}, 2);
	if (!r)
		*ret = steal_ptr(&taken);
	return r;
}
