/* SPDX-License-Identifier: MIT */
#include "client/analysis/firefox_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/order.h"
#include "common/profile/sample_times.h"
#include "common/room.h"

#define BUCKET_MS ((double)PROFILE_BUCKET_NS / 1e6)
#define PAUSE     2.5 /* intervals from one sample to the next: a thread that did nothing */

void firefox_rows_deinit(struct firefox_rows *rows)
{
	free(rows->all);
}

int firefox_rows_add(struct firefox_rows *rows, const struct profile *p, uint32_t sample,
		     uint32_t stack)
{
	const int64_t count = p->sample_values[(size_t)sample * p->n_sample_types];
	int r = 0;

	if (!profile_knows_times(p, sample))
		return room_append(&rows->all, &rows->max, &rows->n,
				   (struct firefox_row){.start_ms = (double)p->time_ns / 1e6,
							.length_ms = (double)p->duration_ns / 1e6,
							.count = (uint64_t)count,
							.stack = stack});
	for (uint32_t i = p->samples[sample].times; i && !r; i = p->times[i - 1].next) {
		const struct profile_time *t = &p->times[i - 1];

		r = room_append(&rows->all, &rows->max, &rows->n,
				(struct firefox_row){.start_ms = (double)t->bucket * BUCKET_MS,
						     .length_ms = BUCKET_MS * (1u << t->scale),
						     .count = t->count,
						     .stack = stack});
	}
	return r;
}

DEFINE_ORDER(firefox_compare_buckets, struct firefox_row,
	     order_of(x->start_ms, y->start_ms) ?: order_of(x->length_ms, y->length_ms)
		     ?: order_of(x->stack, y->stack))
DEFINE_ORDER(firefox_compare_moments, struct firefox_row,
	     order_of(x->at_ms, y->at_ms) ?: order_of(x->stack, y->stack))

/* The @n rows of one bucket. */
static void firefox_rows_spread(const struct firefox_rows *rows, struct firefox_row *bucket,
				size_t n)
{
	double all = 0, before = 0, step = rows->interval_ms;

	for (size_t i = 0; i < n; i++)
		all += (double)bucket[i].count;
	if (bucket->length_ms > 0 && all * step > bucket->length_ms)
		step = bucket->length_ms / all;
	for (size_t i = 0; i < n; i++) {
		bucket[i].at_ms = bucket->start_ms + (before + (double)bucket[i].count / 2) * step;
		before += (double)bucket[i].count;
	}
}

static double firefox_row_ms(const struct firefox_rows *rows, const struct firefox_row *row)
{
	return (double)row->count * rows->interval_ms;
}

static int firefox_rows_add_pauses(struct firefox_rows *rows)
{
	const size_t n = rows->n;

	for (size_t i = 1; i < n; i++) {
		const double begin_ms = rows->all[i].at_ms - rows->interval_ms;
		int r;

		if (rows->all[i].at_ms - rows->all[i - 1].at_ms <
		    PAUSE * rows->interval_ms + firefox_row_ms(rows, &rows->all[i]) / 2 +
			    firefox_row_ms(rows, &rows->all[i - 1]) / 2)
			continue;
		r = room_append(&rows->all, &rows->max, &rows->n,
				(struct firefox_row){.at_ms = begin_ms, .stack = PROFILE_NONE});
		if (r)
			return r;
	}
	return 0;
}

int firefox_rows_arrange(struct firefox_rows *rows)
{
	int r;

	if (!rows->n)
		return 0;
	qsort(rows->all, rows->n, sizeof(*rows->all), firefox_compare_buckets);
	for (size_t i = 0, end; i < rows->n; i = end) {
		for (end = i + 1;
		     end < rows->n && rows->all[end].start_ms == rows->all[i].start_ms &&
		     rows->all[end].length_ms == rows->all[i].length_ms;
		     end++)
			;
		firefox_rows_spread(rows, &rows->all[i], end - i);
	}
	qsort(rows->all, rows->n, sizeof(*rows->all), firefox_compare_moments);
	r = firefox_rows_add_pauses(rows);
	qsort(rows->all, rows->n, sizeof(*rows->all), firefox_compare_moments);
	return r;
}

void firefox_rows_write(const struct firefox_rows *rows, double begin_ms, double cpu_ns, FILE *out)
{
	fprintf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\"stack\":[", rows->n);
	for (size_t i = 0; i < rows->n; i++) {
		fputs(i ? "," : "", out);
		if (rows->all[i].stack == PROFILE_NONE)
			fputs("null", out);
		else
			fprintf(out, "%" PRIu32, rows->all[i].stack);
	}
	fputs("],\"time\":[", out);
	for (size_t i = 0; i < rows->n; i++)
		fprintf(out, "%s%.3f", i ? "," : "", rows->all[i].at_ms - begin_ms);
	fputs("],\"weight\":[", out);
	for (size_t i = 0; i < rows->n; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", rows->all[i].count);
	if (cpu_ns > 0) {
		fputs("],\"threadCPUDelta\":[", out);
		for (size_t i = 0; i < rows->n; i++)
			fprintf(out, "%s%.0f", i ? "," : "", (double)rows->all[i].count * cpu_ns);
	}
	fputs("]},\n", out);
}
