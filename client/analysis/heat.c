/* SPDX-License-Identifier: MIT */
/*
 * Cells are the buckets of times themselves. What comes from longer buckets is counted as parts of
 * the longest one that there can be, so that sums stay exact until they are printed.
 */
#include "client/analysis/heat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/clamped.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/coverage.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "common/profile/value_types.h"

#define ROWS  ((int64_t)NS_PER_S / PROFILE_BUCKET_NS)
#define PARTS (1u << PROFILE_SCALE_MAX) /* of a sample */

struct heat {
	int64_t first, n; /* buckets: the range */
	uint64_t *parts;  /* of each: samples, times PARTS */
	uint64_t sum;     /* samples of the range, times PARTS */
	int64_t untimed;
	unsigned scale; /* the largest of them */
};

static void heat_deinit(struct heat *h)
{
	free(h->parts);
}

/* The range in buckets: whole seconds. */
static int heat_init(struct heat *h, int64_t since_ns, int64_t until_ns)
{
	const int64_t first_s = since_ns / (int64_t)NS_PER_S;
	const int64_t end_s = until_ns / (int64_t)NS_PER_S + (until_ns % (int64_t)NS_PER_S != 0);

	if (since_ns < 0 || until_ns <= since_ns || until_ns - since_ns > HEAT_RANGE_MAX_NS)
		return HEAT_E_RANGE;
	h->first = first_s * ROWS;
	h->n = (end_s - first_s) * ROWS;
	h->parts = calloc((size_t)h->n, sizeof(*h->parts));
	return h->parts ? HEAT_E_OK : error_origin(-ENOMEM);
}

static void heat_add_time(struct heat *h, const struct profile_time *t)
{
	const uint64_t part = (uint64_t)t->count * (PARTS >> t->scale);
	const int64_t begin = (int64_t)t->bucket - h->first, end = begin + (INT64_C(1) << t->scale);

	for (int64_t i = begin > 0 ? begin : 0; i < end && i < h->n; i++) {
		h->parts[i] += part;
		h->sum += part;
		h->scale = t->scale > h->scale ? t->scale : h->scale;
	}
}

static void heat_add_profile(struct heat *h, const struct profile *p,
			     const struct heat_options *options)
{
	for (uint32_t i = 0; i < p->n_samples; i++) {
		if (options->is_left_out && options->is_left_out(options->userdata, p, i))
			continue;
		/* Waits have no times: this is of CPU samples. */
		if (value_types_is_wait(p, i))
			continue;
		if (!profile_knows_times(p, i)) {
			if (p->n_sample_types)
				h->untimed = clamped_add(
					h->untimed,
					p->sample_values[(size_t)i * p->n_sample_types]);
			continue;
		}
		for (uint32_t t = p->samples[i].times; t; t = p->times[t - 1].next)
			heat_add_time(h, &p->times[t - 1]);
	}
}

static void heat_write_samples(uint64_t parts, FILE *out)
{
	if (parts % PARTS)
		fprintf(out, "%.3f", (double)parts / PARTS);
	else
		fprintf(out, "%" PRIu64, parts / PARTS);
}

static void heat_write_cells(const struct heat *h, const struct profile_coverage *covered,
			     FILE *out)
{
	uint64_t max = 0;

	fputs("\"values\":[", out);
	for (int64_t i = 0; i < h->n; i++) {
		const int64_t middle_ns = (h->first + i) * PROFILE_BUCKET_NS +
					  PROFILE_BUCKET_NS / 2;

		fputs(i ? "," : "", out);
		if (h->parts[i] || profile_coverage_has(covered, middle_ns))
			heat_write_samples(h->parts[i], out);
		else
			fputs("null", out);
		max = h->parts[i] > max ? h->parts[i] : max;
	}
	fputs("],\"max\":", out);
	heat_write_samples(max, out);
}

int heat_write(const struct profile *p, const struct heat_options *options, FILE *out)
{
	cleanup(profile_coverage_deinit) struct profile_coverage own = {0};
	cleanup(heat_deinit) struct heat h = {0};
	int r = heat_init(&h, options->since_ns, options->until_ns);

	if (!r && !options->covered)
		r = profile_coverage_of(p, &own);
	if (r)
		return r;
	heat_add_profile(&h, p, options);
	fprintf(out,
		"{\"since_ms\":%" PRId64 ",\"column_ms\":1000,\"row_ms\":100,\"columns\":%" PRId64
		",\"rows\":%" PRId64 ",",
		h.first * 100, h.n / ROWS, ROWS);
	heat_write_cells(&h, options->covered ? options->covered : &own, out);
	fputs(",\"samples\":", out);
	heat_write_samples(h.sum, out);
	fprintf(out, ",\"untimed\":%" PRId64 ",\"coarsest_ms\":%u}\n", h.untimed, 100u << h.scale);
	return HEAT_E_OK;
}
