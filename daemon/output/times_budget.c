/* SPDX-License-Identifier: MIT */
#include "daemon/output/times_budget.h"

#include "common/clock.h"
#include "common/profile/sample_times.h"
#include "common/profile/times_block.h"

#define BITS_OF_SAMPLE 5u
#define CPUS_MIN       4u  /* of a machine that has less, or nobody knows how many */
#define GROUP_SAMPLES  64u /* what a profile gets beyond its samples' share: for few of them */

void times_budget_init(struct times_budget *b, const struct snapshot *s, uint32_t n_cpus,
		       size_t n_groups)
{
	const uint64_t n = aggregate_count(s->aggregate),
		       cpus = n_cpus > CPUS_MIN ? n_cpus : CPUS_MIN;
	const uint64_t possible = s->duration_ns / NS_PER_S * s->frequency * cpus;

	b->bytes = (n > possible ? n : possible) * BITS_OF_SAMPLE / 8;
	b->shares = n + n_groups * GROUP_SAMPLES;
}

int times_budget_apply(struct times_budget *b, struct profile *p)
{
	const uint64_t share = (uint64_t)profile_total(p, 0) + GROUP_SAMPLES;
	const uint64_t most = share < b->shares
				      ? (uint64_t)((unsigned __int128)b->bytes * share / b->shares)
				      : b->bytes;
	size_t bytes = 0;
	int r = times_block_measure(p, &bytes);

	for (unsigned scale = 0; !r && bytes > most; scale++) {
		if (scale < PROFILE_SCALE_MAX)
			profile_coarsen_times(p);
		else
			profile_clear_times(p);
		r = times_block_measure(p, &bytes);
	}
	b->bytes -= bytes;
	b->shares -= share < b->shares ? share : b->shares;
	return r;
}
