/* SPDX-License-Identifier: MIT */
#include "daemon/lateness.h"

/* Values below 8 have a bucket each; above, three bits follow the leading one. */
static unsigned lateness_bucket(uint64_t value)
{
	unsigned exponent, bucket;

	if (value < 8)
		return (unsigned)value;
	exponent = 63 - (unsigned)__builtin_clzll(value);
	bucket = (exponent - 2) * 8 + (unsigned)(value >> (exponent - 3) & 7);
	return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

static uint64_t lateness_bucket_end(unsigned bucket)
{
	if (bucket < 8)
		return bucket;
	return ((uint64_t)(8 + bucket % 8 + 1) << (bucket / 8 - 1)) - 1;
}

void lateness_add(struct lateness *l, uint64_t late_ns)
{
	l->buckets[lateness_bucket(late_ns)]++;
	l->n++;
	if (late_ns > l->max_ns)
		l->max_ns = late_ns;
}

uint64_t lateness_quantile(const struct lateness *l, double q)
{
	uint64_t wanted = (uint64_t)((double)l->n * q), sum = 0;

	if (!l->n)
		return 0;
	for (unsigned i = 0; i < LATENESS_BUCKETS; i++) {
		sum += l->buckets[i];
		if (sum > wanted || sum == l->n)
			return lateness_bucket_end(i) < l->max_ns ? lateness_bucket_end(i)
								  : l->max_ns;
	}
	return l->max_ns;
}
