/* SPDX-License-Identifier: MIT */
#include "client/gateway/api/print.h"

#include <inttypes.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "common/clock.h"
#include "common/memory_text.h"
#include "common/units.h"

static void print_name(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\":", name);
	json_text_write(out, value);
	fputc(',', out);
}

static uint64_t print_sum(Profd__Control__Reason *const *reasons, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += reasons[i]->count;
	return sum;
}

static void print_samples(FILE *out, const Profd__Control__Ledger *l)
{
	fprintf(out,
		"\"samples\":{\"expected\":%" PRIu64 ",\"seen\":%" PRIu64 ",\"complete\":%" PRIu64
		",\"guessed\":%" PRIu64 ",\"no_user\":%" PRIu64 ",\"truncated\":%" PRIu64
		",\"broken\":%" PRIu64 ",\"lost\":%" PRIu64 "},",
		l->expected, l->seen, l->complete, l->guessed, l->no_user,
		print_sum(l->truncated, l->n_truncated), print_sum(l->broken, l->n_broken),
		print_sum(l->lost, l->n_lost));
}

/* 0: there is none. */
static void print_moment(FILE *out, const char *key, uint64_t ns)
{
	if (ns)
		fprintf(out, "\"%s\":%" PRIu64 ",", key, ns / NS_PER_MS);
	else
		fprintf(out, "\"%s\":null,", key);
}

void api_print_machine(FILE *out, const Profd__Control__Response *response, uint64_t now_ns)
{
	const Profd__Control__Status *s = response->status;

	fputc('{', out);
	print_name(out, "host", s->host);
	print_name(out, "version", s->version);
	print_name(out, "kernel", s->kernel);
	fprintf(out, "\"now_ms\":%" PRIu64 ",", now_ns / NS_PER_MS);
	print_moment(out, "oldest_ms", s->store ? s->store->oldest_ns : 0);
	print_moment(out, "newest_ms", s->store ? s->store->newest_ns : 0);
	fprintf(out, "\"n_cpus\":%" PRIu32 ",\"window_seconds\":%.3f,", s->n_cpus,
		s->window_seconds);
	if (s->ledger)
		print_samples(out, s->ledger);
	fputs("\"warnings\":[", out);
	for (size_t i = 0; i < s->n_warnings; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, s->warnings[i]);
	}
	fprintf(out, "],\"read_only\":%s}", s->read_only ? "true" : "false");
}

/* --- usage ------------------------------------------------------------------------------------ */

/* The machine's CPU time in what windows span. */
static double print_capacity(const Profd__Control__UsageTable *t)
{
	double steps = 0;

	for (size_t i = 0; i < t->n_covered; i++)
		steps += (double)t->covered[i];
	return steps * (double)t->step_ns * t->n_cpus;
}

/* Of the busiest second of each step, and how long after the step's begin that begins. */
static void print_row_peaks(FILE *out, const Profd__Control__UsageTable *t,
			    const Profd__Control__UsageRow *row)
{
	size_t n = row->n_peak_ns < row->n_peak_at_ns ? row->n_peak_ns : row->n_peak_at_ns;
	const char *separator = "";

	fputs("\"peaks\":{\"cores\":[", out);
	for (size_t i = 0; i < n; i++, separator = ",")
		if (row->peak_ns[i])
			fprintf(out, "%s%.4g", separator,
				(double)row->peak_ns[i] / (double)NS_PER_S);
		else
			fprintf(out, "%snull", separator);
	fputs("],\"after_ms\":[", out);
	separator = "";
	for (size_t i = 0; i < n; i++, separator = ",") {
		uint64_t step_ns = t->since_ns + i * t->step_ns, at_ns = row->peak_at_ns[i];

		fprintf(out, "%s%" PRIu64, separator,
			at_ns > step_ns ? (at_ns - step_ns) / NS_PER_MS : 0);
	}
	fputs("]}", out);
}

/* Mean cores in what is covered of each step. */
static void print_row(FILE *out, const Profd__Control__UsageTable *t,
		      const Profd__Control__UsageRow *row)
{
	double capacity = print_capacity(t);

	fprintf(out, "\"cpu_seconds\":%.3f,\"share\":%.6f,\"cores\":[",
		(double)row->cpu_ns / (double)NS_PER_S,
		capacity > 0 ? (double)row->cpu_ns / capacity : 0);
	for (size_t i = 0; i < row->n_step_ns && i < t->n_covered; i++) {
		double ns = (double)t->covered[i] * (double)t->step_ns;

		fputs(i ? "," : "", out);
		if (ns > 0)
			fprintf(out, "%.4g", (double)row->step_ns[i] / ns);
		else
			fputs("null", out);
	}
	fputs("],", out);
	print_row_peaks(out, t, row);
	fputc('}', out);
}

static void print_standouts(FILE *out, const Profd__Control__UsageTable *t)
{
	fputs("\"peaks\":[", out);
	for (size_t i = 0; i < t->n_peaks; i++) {
		const Profd__Control__UsagePeak *p = t->peaks[i];

		fputs(i ? ",{" : "{", out);
		print_name(out, "service", p->service);
		fprintf(out, "\"at_ms\":%" PRIu64 ",\"cores\":%.4g,\"usual_cores\":%.4g}",
			p->at_ns / NS_PER_MS, (double)p->cpu_ns / (double)NS_PER_S,
			(double)p->usual_ns / (double)NS_PER_S);
	}
	fputs("],", out);
}

/* Where windows end, and others begin later; before the first and after the last one, there is
 * nothing to report. What is not covered of the steps around it is part of a gap. Returns what is
 * to precede another event. */
static const char *print_gaps(FILE *out, const Profd__Control__UsageTable *t)
{
	const char *separator = "";
	size_t end = 0;

	for (size_t i = 0; i < t->n_covered; i++) {
		double start, length;
		char span[UNITS_TEXT_MAX];

		if (!(t->covered[i] > 0))
			continue;
		if (end && i > end) {
			start = (double)(end - 1) + (double)t->covered[end - 1];
			length = (double)(i + 1) - (double)t->covered[i] - start;
			units_print_span(span, sizeof(span),
					 length * (double)t->step_ns / (double)NS_PER_S);
			fprintf(out,
				"%s{\"at_ms\":%" PRIu64
				",\"kind\":\"pause\",\"text\":\"nothing was "
				"sampled for about %s\"}",
				separator,
				(t->since_ns + (uint64_t)(start * (double)t->step_ns)) / NS_PER_MS,
				span);
			separator = ",";
		}
		end = i + 1;
	}
	return separator;
}

static void print_event_text(FILE *out, const Profd__Control__UsageEvent *e)
{
	const char *path = strchr(e->text, ' ');

	switch (e->kind) {
	case PROFD__CONTROL__USAGE_EVENT_KIND__TICKS_LOST:
		fprintf(out, "%" PRIu64 " of %" PRIu64 " ticks of the machine were lost", e->lost,
			e->ticks);
		break;
	case PROFD__CONTROL__USAGE_EVENT_KIND__PROFD_STARTED:
		fputs("profd was restarted", out);
		break;
	case PROFD__CONTROL__USAGE_EVENT_KIND__MACHINE_STARTED:
		fputs("the machine was restarted", out);
		break;
	case PROFD__CONTROL__USAGE_EVENT_KIND__SERVICE_RESTARTED:
		fprintf(out, "%s was restarted", e->service);
		break;
	case PROFD__CONTROL__USAGE_EVENT_KIND__NEW_BUILD:
		fprintf(out, "%s runs another build of %s: %.*s", e->service, path ? path + 1 : "",
			(int)strcspn(e->text, " "), e->text);
		break;
	default:
		break;
	}
}

/* Words of the page; NULL: a kind that a later profd knows. */
static const char *print_event_kind(const Profd__Control__UsageEvent *e)
{
	switch (e->kind) {
	case PROFD__CONTROL__USAGE_EVENT_KIND__TICKS_LOST:
		return "lost";
	case PROFD__CONTROL__USAGE_EVENT_KIND__NEW_BUILD:
		return "build";
	case PROFD__CONTROL__USAGE_EVENT_KIND__PROFD_STARTED:
	case PROFD__CONTROL__USAGE_EVENT_KIND__MACHINE_STARTED:
	case PROFD__CONTROL__USAGE_EVENT_KIND__SERVICE_RESTARTED:
		return "restart";
	default:
		return NULL;
	}
}

static void print_events(FILE *out, const Profd__Control__UsageTable *t, const char *separator)
{
	for (size_t i = 0; i < t->n_events; i++) {
		cleanup(memory_text_deinit) struct memory_text text = {0};
		const char *kind = print_event_kind(t->events[i]);

		if (!kind || memory_text_open(&text))
			continue;
		print_event_text(text.out, t->events[i]);
		if (memory_text_close(&text))
			continue;
		fprintf(out, "%s{\"at_ms\":%" PRIu64 ",\"kind\":\"%s\",\"text\":", separator,
			t->events[i]->at_ns / NS_PER_MS, kind);
		json_text_write(out, text.text);
		fputc('}', out);
		separator = ",";
	}
}

void api_print_usage(FILE *out, const Profd__Control__Response *response, uint64_t now_ns)
{
	const Profd__Control__UsageTable *t = response->usage;

	(void)now_ns;
	fprintf(out,
		"{\"since_ms\":%" PRIu64 ",\"until_ms\":%" PRIu64
		",\"step_ms\":%.6g,\"n_cpus\":%" PRIu32 ",\"steps\":%zu,\"covered\":[",
		t->since_ns / NS_PER_MS, t->until_ns / NS_PER_MS,
		(double)t->step_ns / (double)NS_PER_MS, t->n_cpus, t->n_covered);
	for (size_t i = 0; i < t->n_covered; i++)
		fprintf(out, "%s%.3g", i ? "," : "", (double)t->covered[i]);
	fputs("],\"services\":[", out);
	for (size_t i = 0; i < t->n_rows; i++) {
		fputs(i ? ",{" : "{", out);
		print_name(out, "name", t->rows[i]->service);
		print_row(out, t, t->rows[i]);
	}
	fprintf(out, "],\"other\":{\"n\":%" PRIu64 ",", t->n_others);
	if (t->others)
		print_row(out, t, t->others);
	else
		fputs("\"cpu_seconds\":0,\"share\":0,\"cores\":[]}", out);
	fputc(',', out);
	print_standouts(out, t);
	fputs("\"events\":[", out);
	print_events(out, t, print_gaps(out, t));
	fputs("]}", out);
}
