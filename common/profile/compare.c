/* SPDX-License-Identifier: MIT */
#include "common/profile/compare.h"

#include "common/cleanup.h"
#include "common/profile/merge.h"
#include "common/profile/value_types.h"

/* Scales both so that they can be merged. */
static int compare_prepare(struct profile *p, struct profile *base,
			   const struct compare_options *options, struct profile_message *message)
{
	double ratios[PROFILE_TYPES_MAX], negated[PROFILE_TYPES_MAX];
	int r = value_types_share(p, base, message);

	if (r)
		return r;
	if (options->normalizes) {
		compare_normalize(p, base, ratios);
		compare_scale(p, ratios);
	}
	for (uint32_t i = 0; i < PROFILE_TYPES_MAX; i++)
		negated[i] = -1;
	compare_scale(base, negated);
	return options->labels_bases ? compare_label_base(base) : 0;
}

int compare_subtract(struct profile **p, struct profile *base,
		     const struct compare_options *options, struct profile_message *message)
{
	cleanup(merge_freep) struct merge *m = NULL;
	int r = compare_prepare(*p, base, options, message)
			?: merge_new(&m, MERGE_WINDOWS_KEPT)
		?: merge_add(m, *p, NULL, NULL, message)
		?: merge_add(m, base, NULL, NULL, message);

	if (r)
		return r < 0 ? r : COMPARE_E_MISMATCH;
	/* What adds up to nothing is gone, as in pprof. */
	r = merge_finish(m) ?: profile_drop_zeroes(merge_profile(m));
	if (r)
		return r;
	profile_free(*p);
	*p = merge_steal_profile(m);
	return COMPARE_E_OK;
}
