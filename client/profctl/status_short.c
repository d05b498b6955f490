/* SPDX-License-Identifier: MIT */
/*
 * What a person wants to know first, on a terminal of 80 columns and 24 lines: whether profd
 * samples, and how fast, how good the stacks are, what it costs, what is on the disk, what is
 * wrong. A line each; warnings and sessions are cut after a few. status.c has all the rest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/profctl/status.h"
#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/memory_text.h"
#include "common/options.h"
#include "common/units.h"

#define WARNINGS_MAX 3
#define SESSIONS_MAX 3
#define EXPORTS_MAX  3

static void short_print_head(const Profd__Control__Status *s, FILE *out)
{
	fprintf(out, "profd %s on %.40s, up %s\n", s->version, s->host,
		TEXT_OF_SPAN(s->uptime_seconds));
	if (s->read_only) {
		fputs("  rate     nothing is sampled: it only reads its store\n", out);
		return;
	}
	fprintf(out, "  rate     %s", s->event);
	if (s->frequency)
		fprintf(out, " at %" PRIu64 " Hz", s->frequency);
	fprintf(out, " through %s, %" PRIu64 " processes", s->source, s->processes);
	if (s->attached)
		fprintf(out, ", %" PRIu64 " with libprofd", s->attached);
	fputc('\n', out);
	if (s->off_cpu_frequency)
		fprintf(out, "  waits    at %" PRIu64 " Hz\n", s->off_cpu_frequency);
}

void status_print_stacks(const Profd__Control__Ledger *l, FILE *out)
{
	uint64_t truncated = status_sum(l->truncated, l->n_truncated);
	uint64_t broken = status_sum(l->broken, l->n_broken);
	uint64_t all = l->complete + l->guessed + truncated + broken;

	if (!all) {
		fputs("none yet\n", out);
		return;
	}
	fprintf(out, "%.2f %% complete, ", status_percent(l->complete, all));
	if (l->guessed)
		fprintf(out, "%.2f %% guessed, ", status_percent(l->guessed, all));
	fprintf(out, "%.2f %% truncated, %.2f %% broken\n", status_percent(truncated, all),
		status_percent(broken, all));
}

/* The ledger in two lines, and whether it closes. */
static void short_print_ledger(const Profd__Control__Ledger *l, FILE *out)
{
	uint64_t truncated = status_sum(l->truncated, l->n_truncated);
	uint64_t broken = status_sum(l->broken, l->n_broken);
	uint64_t lost = status_sum(l->lost, l->n_lost);
	uint64_t skipped = status_reason(l->lost, l->n_lost, "skipped");
	uint64_t parts = l->complete + l->guessed + truncated + broken + l->no_user + lost +
			 l->in_flight;

	fputs("  stacks   ", out);
	status_print_stacks(l, out);
	fprintf(out, "  ticks    %" PRIu64 ", %.2f %% of them lost; ", l->expected,
		status_percent(lost, l->expected));
	fputs(parts == l->expected && l->seen + skipped == l->expected
		      ? "all are accounted for\n"
		      : "they do not add up, see -v\n",
	      out);
	if (l->outside)
		fprintf(out,
			"  outside  %" PRIu64 " ticks in processes outside profd's pid namespace\n"
			"           are not sampled: docker run --pid=host samples them\n",
			l->outside);
}

/* Of the last window or minute; before the first one is over, since the start. */
static void short_print_cost(const Profd__Control__Status *s, FILE *out)
{
	const Profd__Control__Cpu *c = s->cpu;
	const Profd__Control__Memory *m = s->memory;
	double all = c ? c->user_seconds + c->system_seconds + c->bpf_seconds + c->workers_seconds
		       : 0;
	double start = s->uptime_seconds > 0 ? all / s->uptime_seconds / (s->n_cpus ? s->n_cpus : 1)
					     : 0;

	if (c && c->recent_share > 0)
		fprintf(out,
			"  cost     %.2f %% of the machine's CPUs now, %.2f %% since the start\n",
			100 * c->recent_share, 100 * start);
	else if (c)
		fprintf(out, "  cost     %.2f %% of the machine's CPUs\n", 100 * start);
	if (m)
		fprintf(out, "  memory   %s of %s\n", TEXT_OF_SIZE(m->rss_bytes + m->bpf_bytes),
			TEXT_OF_SIZE(m->budget_bytes));
}

static void short_print_moment(uint64_t ns, FILE *out)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	char text[32] = "?";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
	fputs(text, out);
}

static void short_print_store(const Profd__Control__Status *s, FILE *out)
{
	const Profd__Control__LastFlush *f = s->last_flush;

	if (s->store) {
		fprintf(out, "  disk     %s in %" PRIu64 " files", TEXT_OF_SIZE(s->store->bytes),
			s->store->files);
		if (s->store->oldest_ns) {
			fputs(" since ", out);
			short_print_moment(s->store->oldest_ns, out);
		}
		fputs(s->store->full ? ", disk full\n" : "\n", out);
	}
	if (!f) {
		fputs("           no window written yet\n", out);
		return;
	}
	fputs("           last window ", out);
	short_print_moment(f->started_ns, out);
	if (*f->error)
		fprintf(out, ", error: %.40s\n", f->error);
	else
		fprintf(out, ": %" PRIu64 " file%s in %s\n", f->files, UNITS_PLURAL(f->files),
			TEXT_OF_SPAN(f->seconds));
}

static void short_print_sessions(const Profd__Control__Status *s, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_sessions; i++) {
		const Profd__Control__Session *one = s->sessions[i];

		if (!one->id || ++n > SESSIONS_MAX)
			continue;
		fprintf(out, "%s s%" PRIu64 " %.32s: %" PRIu64 " sample%s of %.20s\n",
			n == 1 ? "  sessions" : "          ", one->id, one->name, one->counted,
			UNITS_PLURAL(one->counted), one->event);
	}
	if (n > SESSIONS_MAX)
		fprintf(out, "           and %zu more\n", n - SESSIONS_MAX);
}

static void short_print_exports(const Profd__Control__Status *s, FILE *out)
{
	for (size_t i = 0; i < s->n_exports && i < EXPORTS_MAX; i++) {
		const Profd__Control__Export *x = s->exports[i];

		fprintf(out, "%s %s: %" PRIu64 " window%s sent", i ? "          " : "  exports ",
			x->name, x->sent_windows, UNITS_PLURAL(x->sent_windows));
		if (x->waiting_windows)
			fprintf(out, ", %" PRIu64 " wait%s, %s behind", x->waiting_windows,
				x->waiting_windows == 1 ? "s" : "",
				TEXT_OF_SPAN((double)x->lag_seconds));
		if (x->refused_windows)
			fprintf(out, ", %" PRIu64 " refused", x->refused_windows);
		if (x->dropped_windows)
			fprintf(out, ", %" PRIu64 " dropped", x->dropped_windows);
		fputs(x->failing ? ", failing\n" : "\n", out);
	}
	if (s->n_exports > EXPORTS_MAX)
		fprintf(out, "           and %zu more\n", s->n_exports - EXPORTS_MAX);
}

/* Returns 0 or negative errno. */
static int short_print_warnings(const Profd__Control__Status *s, bool color, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	char *line, *rest;
	size_t n = 0;
	int r = memory_text_open(&text);

	if (r)
		return r;
	status_print_warnings(s, text.out);
	r = memory_text_close(&text);
	if (r)
		return r;
	for (line = strtok_r(text.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (++n > WARNINGS_MAX)
			continue;
		fputs(color ? "\x1b[33m" : "", out);
		help_print(out, line);
		fputs(color ? "\x1b[0m" : "", out);
	}
	if (n > WARNINGS_MAX)
		fprintf(out, "%zu more warning%s: profctl status -v\n", n - WARNINGS_MAX,
			UNITS_PLURAL(n - WARNINGS_MAX));
	return 0;
}

int status_print_short(const Profd__Control__Status *s, bool color, FILE *out)
{
	short_print_head(s, out);
	if (s->ledger)
		short_print_ledger(s->ledger, out);
	short_print_cost(s, out);
	short_print_store(s, out);
	short_print_exports(s, out);
	short_print_sessions(s, out);
	return short_print_warnings(s, color, out);
}
