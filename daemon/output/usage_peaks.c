/* SPDX-License-Identifier: MIT */
#include "daemon/output/usage_peaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/sample_times.h"
#include "common/text_print.h"

#define USUAL_OF_MIN 3u                /* steps: of fewer, the mean is usual */
#define EXCESS_MIN   (200 * NS_PER_MS) /* a fifth of a CPU */

int usage_peaks_init(struct usage_peaks *p, uint64_t since_ns, double step_ns, size_t n_steps)
{
	*p = (struct usage_peaks){.since_ns = since_ns, .step_ns = step_ns, .n_steps = n_steps};
	p->steps = calloc(n_steps, sizeof(*p->steps));
	p->own = calloc(n_steps, sizeof(*p->own));
	p->sorted = calloc(n_steps, sizeof(*p->sorted));
	return p->steps && p->own && p->sorted ? 0 : error_origin(-ENOMEM);
}

void usage_peaks_deinit(struct usage_peaks *p)
{
	free(p->steps);
	free(p->own);
	free(p->sorted);
}

static void usage_peak_join(struct usage_peak *to, struct usage_peak from)
{
	if (from.cpu_ns > to->cpu_ns)
		*to = from;
}

void usage_peaks_add(struct usage_peaks *p, struct index_peak peak, uint64_t start_s)
{
	const struct usage_peak one = {
		.cpu_ns = peak.cpu_ms * NS_PER_MS,
		.at_ns = start_s * NS_PER_S + peak.at * (uint64_t)PROFILE_BUCKET_NS,
	};
	double step;

	if (!one.cpu_ns || one.at_ns < p->since_ns)
		return;
	step = (double)(one.at_ns - p->since_ns) / p->step_ns;
	if (step < (double)p->n_steps)
		usage_peak_join(&p->own[(size_t)step], one);
}

/* --- what stands out -------------------------------------------------------------------------- */

DEFINE_ORDER(usage_peak_compare, uint64_t, order_of(*x, *y))

static uint64_t usage_peaks_usual(struct usage_peaks *p, uint64_t mean_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++)
		if (p->own[i].cpu_ns)
			p->sorted[n++] = p->own[i].cpu_ns;
	if (n < USUAL_OF_MIN)
		return mean_ns;
	qsort(p->sorted, n, sizeof(*p->sorted), usage_peak_compare);
	return p->sorted[n / 2] > mean_ns ? p->sorted[n / 2] : mean_ns;
}

static uint64_t usage_standout_excess(const struct usage_standout *s)
{
	return s->peak.cpu_ns - s->usual_ns;
}

static void usage_peaks_insert(struct usage_peaks *p, const struct usage_standout *s)
{
	size_t i = p->n;

	if (p->n == USAGE_PEAKS_MAX) {
		i--;
		if (usage_standout_excess(&p->standouts[i]) >= usage_standout_excess(s))
			return;
	} else {
		p->n++;
	}
	for (; i && usage_standout_excess(&p->standouts[i - 1]) < usage_standout_excess(s); i--)
		p->standouts[i] = p->standouts[i - 1];
	p->standouts[i] = *s;
}

/* Of steps beside each other the highest one: what lasts from one to the next is one. */
static bool usage_peaks_is_top(const struct usage_peaks *p, size_t i)
{
	return (!i || p->own[i - 1].cpu_ns < p->own[i].cpu_ns) &&
	       (i + 1 == p->n_steps || p->own[i + 1].cpu_ns <= p->own[i].cpu_ns);
}

static void usage_peaks_judge(struct usage_peaks *p, const char *service, uint64_t mean_ns)
{
	const uint64_t usual_ns = usage_peaks_usual(p, mean_ns);

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct usage_standout s = {service, p->own[i], usual_ns};

		if (s.peak.cpu_ns >= usual_ns + usual_ns / 2 + EXCESS_MIN &&
		    usage_peaks_is_top(p, i))
			usage_peaks_insert(p, &s);
	}
}

/* --- the answer ------------------------------------------------------------------------------- */

void usage_peaks_end_service(struct usage_peaks *p, const char *service, uint64_t mean_ns)
{
	usage_peaks_judge(p, service, mean_ns);
	for (size_t i = 0; i < p->n_steps; i++)
		usage_peak_join(&p->steps[i], p->own[i]);
	memset(p->own, 0, p->n_steps * sizeof(*p->own));
}

int usage_peaks_end_row(struct usage_peaks *p, Profd__Control__UsageRow *row)
{
	row->peak_ns = calloc(p->n_steps, sizeof(*row->peak_ns));
	row->peak_at_ns = calloc(p->n_steps, sizeof(*row->peak_at_ns));
	if (!row->peak_ns || !row->peak_at_ns)
		return error_origin(-ENOMEM);
	row->n_peak_ns = row->n_peak_at_ns = p->n_steps;
	for (size_t i = 0; i < p->n_steps; i++) {
		row->peak_ns[i] = p->steps[i].cpu_ns;
		row->peak_at_ns[i] = p->steps[i].at_ns;
	}
	memset(p->steps, 0, p->n_steps * sizeof(*p->steps));
	return 0;
}

static int usage_standout_make(const struct usage_standout *s, Profd__Control__UsagePeak **ret)
{
	Profd__Control__UsagePeak *peak = malloc(sizeof(*peak));

	if (!peak)
		return error_origin(-ENOMEM);
	profd__control__usage_peak__init(peak);
	*ret = peak; /* the table's */
	peak->at_ns = s->peak.at_ns;
	peak->cpu_ns = s->peak.cpu_ns;
	peak->usual_ns = s->usual_ns;
	return text_copy(&peak->service, s->service);
}

int usage_peaks_list(const struct usage_peaks *p, Profd__Control__UsageTable *table)
{
	int r = 0;

	table->peaks = calloc(USAGE_PEAKS_MAX, sizeof(*table->peaks));
	if (!table->peaks)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n && !r; i++) {
		r = usage_standout_make(&p->standouts[i], &table->peaks[i]);
		table->n_peaks += table->peaks[i] != NULL;
	}
	return r;
}
