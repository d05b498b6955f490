/* SPDX-License-Identifier: MIT */
/*
 * gzip finds what is alike when it is near. So locations go by address: neighbours share mapping,
 * function and most bytes of the address. Functions go as locations name them, and samples by their
 * stacks from the root on: neighbours share callers, whatever their windows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/profile/profile_private.h"

/* The numbers from 0 up to @n, in this order; NULL without memory. */
static uint32_t *arrange_numbers(const struct profile *p, size_t n,
				 int (*compare)(const void *a, const void *b, void *p))
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order)
		qsort_r(order, n, sizeof(*order), compare, (void *)p);
	return order;
}

static int arrange_compare_locations(const void *a, const void *b, void *userdata)
{
	const struct profile *p = userdata;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_location *x = &p->locations[i], *y = &p->locations[j];

	return order_of(x->mapping, y->mapping)
		       ?: order_of(x->address, y->address) ?: order_of(i, j);
}

static int arrange_compare_samples(const void *a, const void *b, void *userdata)
{
	const struct profile *p = userdata;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_sample *x = &p->samples[i], *y = &p->samples[j];
	size_t above = x->first_location + x->n_locations;
	size_t below = y->first_location + y->n_locations;
	uint32_t n = x->n_locations < y->n_locations ? x->n_locations : y->n_locations;

	for (; n; n--)
		if (p->sample_locations[--above] != p->sample_locations[--below])
			return order_of(p->sample_locations[above], p->sample_locations[below]);
	return order_of(x->n_locations, y->n_locations) ?: order_of(i, j);
}

/* Of the functions those that locations name, in this order. */
static int arrange_functions(struct profile *p)
{
	cleanup(freep) uint32_t *indices = malloc((p->n_functions + 1) * sizeof(*indices));
	struct profile_function *functions = malloc((p->n_functions + 1) * sizeof(*functions));
	uint32_t n = 0;

	if (!indices || !functions) {
		free(functions);
		return error_origin(-ENOMEM);
	}
	memset(indices, 0xff, (p->n_functions + 1) * sizeof(*indices)); /* PROFILE_NONE */
	for (size_t i = 0; i < p->n_locations; i++)
		for (uint32_t j = 0; j < p->locations[i].n_lines; j++) {
			uint32_t *function = &p->lines[p->locations[i].first_line + j].function;

			if (indices[*function] == PROFILE_NONE) {
				functions[n] = p->functions[*function];
				indices[*function] = n++;
			}
			*function = indices[*function];
		}
	free(p->functions);
	p->functions = functions;
	p->tables->max_functions = p->n_functions + 1;
	p->n_functions = n;
	profile_table_deinit(&p->tables->function_table);
	return 0;
}

int profile_arrange(struct profile *p)
{
	cleanup(freep)
		uint32_t *order = arrange_numbers(p, p->n_locations, arrange_compare_locations);
	cleanup(freep) uint32_t *indices = malloc((p->n_locations + 1) * sizeof(*indices));
	struct profile_location *locations = malloc((p->n_locations + 1) * sizeof(*locations));

	if (!order || !indices || !locations) {
		free(locations);
		return error_origin(-ENOMEM);
	}
	for (uint32_t i = 0; i < p->n_locations; i++) {
		locations[i] = p->locations[order[i]];
		indices[order[i]] = i;
	}
	for (size_t i = 0; i < p->n_sample_locations; i++)
		p->sample_locations[i] = indices[p->sample_locations[i]];
	free(p->locations);
	p->locations = locations;
	p->tables->max_locations = p->n_locations + 1;
	profile_table_deinit(&p->tables->location_table);
	return arrange_functions(p) ?: profile_arrange_samples(p);
}

int profile_arrange_samples(struct profile *p)
{
	const size_t n = p->n_samples, size = p->n_sample_types * sizeof(*p->sample_values);
	cleanup(freep) uint32_t *order = arrange_numbers(p, n, arrange_compare_samples);
	struct profile_sample *samples = malloc((n + 1) * sizeof(*samples));
	int64_t *values = malloc(n * size + 1);

	if (!order || !samples || !values) {
		free(samples);
		free(values);
		return error_origin(-ENOMEM);
	}
	for (size_t i = 0; i < n; i++) {
		samples[i] = p->samples[order[i]];
		if (size)
			memcpy(values + i * p->n_sample_types,
			       p->sample_values + order[i] * (size_t)p->n_sample_types, size);
	}
	free(p->samples);
	free(p->sample_values);
	p->samples = samples;
	p->sample_values = values;
	p->tables->max_samples = n + 1;
	p->tables->max_sample_values = n * p->n_sample_types;
	profile_table_deinit(&p->tables->sample_table);
	return 0;
}
