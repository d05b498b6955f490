/* SPDX-License-Identifier: MIT */
#include "daemon/output/peak.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/profile/sample_times.h"
#include "daemon/output/stored.h"

#define PER_SECOND (NS_PER_S / PROFILE_BUCKET_NS)

/* CPU time in each 100 ms of a window. */
struct peak_buckets {
	double *ns;
	uint64_t first, n; /* first: since 1970 */
};

/* A bucket that is longer is spread evenly. */
static void peak_count(struct peak_buckets *b, const struct profile_time *t, double ns)
{
	const uint64_t length = UINT64_C(1) << t->scale;

	for (uint64_t at = t->bucket; at < t->bucket + length; at++)
		if (at >= b->first && at - b->first < b->n)
			b->ns[at - b->first] += ns / (double)length;
}

static void peak_count_sample(struct peak_buckets *b, const struct profile *p, uint32_t sample,
			      uint32_t cpu)
{
	const int64_t *values = &p->sample_values[(size_t)sample * p->n_sample_types];
	const double ns_each = values[0] > 0 ? (double)values[cpu] / (double)values[0] : 0;

	for (uint32_t i = p->samples[sample].times; i; i = p->times[i - 1].next)
		peak_count(b, &p->times[i - 1], ns_each * p->times[i - 1].count);
}

static struct index_peak peak_of_buckets(const struct peak_buckets *b)
{
	double sum = 0, most = 0;
	uint64_t at = 0;

	for (uint64_t i = 0; i < b->n; i++) {
		sum += b->ns[i];
		if (i >= PER_SECOND)
			sum -= b->ns[i - PER_SECOND];
		if (sum > most + 0.5) { /* of equal ones the first */
			most = sum;
			at = i + 1 > PER_SECOND ? i + 1 - PER_SECOND : 0;
		}
	}
	most /= (double)NS_PER_MS;
	return (struct index_peak){most < UINT32_MAX ? (uint32_t)(most + 0.5) : UINT32_MAX,
				   (uint32_t)at};
}

int peak_find(struct index_peak *ret, const struct profile *p, uint64_t start_s, uint32_t seconds)
{
	cleanup(freep) double *ns = NULL;
	struct peak_buckets b = {.first = start_s * PER_SECOND, .n = seconds * PER_SECOND};
	uint32_t cpu;

	*ret = (struct index_peak){0};
	if (!p->n_times || b.n > INDEX_PEAK_AT_MAX || !stored_find_cpu(p, &cpu))
		return 0;
	b.ns = ns = calloc(b.n + 1, sizeof(*ns));
	if (!ns)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples; i++)
		peak_count_sample(&b, p, (uint32_t)i, cpu);
	*ret = peak_of_buckets(&b);
	return 0;
}

void peak_join(struct index_peak *peak, struct index_peak other, uint64_t after_s)
{
	const uint64_t at = other.at + after_s * PER_SECOND;

	if (other.cpu_ms > peak->cpu_ms && at <= INDEX_PEAK_AT_MAX)
		*peak = (struct index_peak){other.cpu_ms, (uint32_t)at};
}
