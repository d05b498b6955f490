/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "common/profile/cpuprofile.h"

static int compare_chains(const struct cpuprofile_record *x, const struct cpuprofile_record *y)
{
	uint32_t n = x->n_addresses < y->n_addresses ? x->n_addresses : y->n_addresses;

	for (uint32_t i = 0; i < n; i++)
		if (x->addresses[i] != y->addresses[i])
			return x->addresses[i] < y->addresses[i] ? -1 : 1;
	if (x->n_addresses != y->n_addresses)
		return x->n_addresses < y->n_addresses ? -1 : 1;
	return 0;
}

static int compare_record_chains(const void *a, const void *b)
{
	return compare_chains(a, b);
}

static uint64_t add_record_counts(uint64_t a, uint64_t b)
{
	return a > INT64_MAX || b > INT64_MAX - a ? INT64_MAX : a + b;
}

size_t cpuprofile_unify(struct cpuprofile_record *records, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(records, n, sizeof(*records), compare_record_chains);
	for (size_t i = 1; i < n; i++) {
		if (compare_chains(&records[kept], &records[i]) == 0)
			records[kept].count = add_record_counts(records[kept].count,
								records[i].count);
		else
			records[++kept] = records[i];
	}
	return kept + 1;
}
