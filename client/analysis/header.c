/* SPDX-License-Identifier: MIT */
#include "client/analysis/header.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/analysis/graph.h"
#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/profile/ledger_line.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

#define LEDGER         "# profd ledger: " /* see windows.h */
#define FILTER_MAX     80
#define NANOS_A_SECOND INT64_C(1000000000)

/* One line, of texts of strangers. */
static void header_put_line(FILE *out, const char *what, const char *text)
{
	fputs(what, out);
	utf8_write_harmless(out, text, "");
	fputc('\n', out);
}

/* What the ledger says of what is missing. */
struct losses {
	uint64_t expected, lost;
	uint64_t rootless; /* stacks: truncated or broken */
	bool is_known;
};

/* "name=number" of the word at @word, whose number is not longer than those of a sum. */
static bool header_parse_ledger_word(const char *word, size_t *ret_name, size_t *ret_length,
				     uint64_t *ret)
{
	size_t digits;

	*ret_length = strcspn(word, " ");
	*ret_name = strcspn(word, "= ");
	if (word[*ret_name] != '=')
		return false;
	digits = strspn(word + *ret_name + 1, "0123456789");
	if (!digits || digits > 19 || *ret_name + 1 + digits != *ret_length)
		return false;
	*ret = strtoull(word + *ret_name + 1, NULL, 10);
	return true;
}

static bool header_begins_with(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* A sum that stays at the most there is. */
static void header_add_saturating(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void header_sum_losses(const char *line, struct losses *l)
{
	size_t name, length;
	uint64_t n;

	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		if (!header_parse_ledger_word(line, &name, &length, &n))
			n = 0;
		else if (header_begins_with(line, "expected="))
			l->is_known = true, header_add_saturating(&l->expected, n);
		else if (header_begins_with(line, "lost."))
			header_add_saturating(&l->lost, n);
		else if (header_begins_with(line, "truncated.") ||
			 header_begins_with(line, "broken."))
			header_add_saturating(&l->rootless, n);
		line += length;
	}
}

/* " (skipped 3, ring_full 1)" */
static void header_put_reasons(FILE *out, const char *line)
{
	const char *before = " (";
	size_t name, length;
	uint64_t n;

	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		if (header_parse_ledger_word(line, &name, &length, &n) &&
		    header_begins_with(line, "lost.") && name > 5 && n) {
			fprintf(out, "%s%.*s %" PRIu64, before, (int)(name - 5), line + 5, n);
			before = ", ";
		}
		line += length;
	}
	if (before[0] == ',')
		fputc(')', out);
}

int header_print_losses(FILE *out, const struct profile *p)
{
	cleanup(freep) char *ledger = NULL;
	struct losses l = {0};
	int r = 0;

	/* A file may have several: other programs put profiles together, too. */
	for (size_t i = 0; i < p->n_comments && !r; i++) {
		const char *comment = profile_string(p, p->comments[i]);

		if (header_begins_with(comment, LEDGER))
			r = ledger_line_add(&ledger, comment + strlen(LEDGER));
	}
	if (r || !ledger)
		return r;
	utf8_make_harmless(ledger);
	header_sum_losses(ledger, &l);
	if (!l.is_known)
		return 0;
	fprintf(out, "Lost: %" PRIu64 " of %" PRIu64 " samples of the time", l.lost, l.expected);
	header_put_reasons(out, ledger);
	if (l.rootless)
		fprintf(out, "; stacks without a root: %" PRIu64, l.rootless);
	fputc('\n', out);
	return 0;
}

static void header_put_time(FILE *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NANOS_A_SECOND) - (time_ns % NANOS_A_SECOND < 0);
	struct tm tm;
	char text[64];

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &tm))
		fprintf(out, "Time: %s\n", text);
}

static void header_put_total(FILE *out, const struct view_input *input, const struct values *values)
{
	const struct profile *p = input->profile;
	char duration[MEASURE_TEXT_MAX], total[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];
	const char *unit;
	double ns = measure_scale(input->total, values->unit, "nanoseconds", &unit);

	values_print(values, total, input->total);
	if (!p->duration_ns) {
		fprintf(out, "Total samples = %s\n", total);
		return;
	}
	measure_print(duration, sizeof(duration), p->duration_ns, "nanoseconds", "auto");
	fprintf(out, "Duration: %s, Total samples = %s", duration, total);
	if (strcmp(unit, "ns") == 0 && ns != 0)
		fprintf(out, " (%s)",
			measure_print_percentage(share, sizeof(share), values_clamp(ns),
						 p->duration_ns));
	fputc('\n', out);
}

int header_print_profile(FILE *out, const struct view_input *input, const struct values *values)
{
	const struct profile *p = input->profile;
	char type[256];

	for (size_t i = 0; i < input->n_notes; i++)
		header_put_line(out, "", input->notes[i]);
	if (p->n_mappings && p->mappings[0].path)
		header_put_line(out,
				"File: ", node_name_base(profile_string(p, p->mappings[0].path)));
	if (p->n_mappings && p->mappings[0].build_id)
		header_put_line(out, "Build ID: ", profile_string(p, p->mappings[0].build_id));
	for (size_t i = 0; i < p->n_comments; i++)
		if (*profile_string(p, p->comments[i]) != '#')
			header_put_line(out, "", profile_string(p, p->comments[i]));
	if (p->sample_types[input->type].type)
		header_put_line(out, "Type: ", values_type(input, type, sizeof(type)));
	if (p->doc_url)
		header_put_line(out, "Doc: ", profile_string(p, p->doc_url));
	if (p->time_ns)
		header_put_time(out, p->time_ns);
	header_put_total(out, input, values);
	return header_print_losses(out, p);
}

static void header_put_dropped(FILE *out, size_t n, const char *what, const char *limit_of,
			       int64_t limit, const struct values *values)
{
	char text[MEASURE_TEXT_MAX];

	if (n)
		fprintf(out, "Dropped %zu %s%s (%s <= %s)\n", n, what, n > 1 ? "s" : "", limit_of,
			values_print(values, text, llabs(limit)));
}

int header_print_graph(FILE *out, const struct view *view, const struct view_input *input,
		       const struct values *values)
{
	const struct view_options *options = &view->options;
	const struct graph *g = view->graph;
	char shown[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX], total[MEASURE_TEXT_MAX];
	int64_t flat = 0;
	int r = options->compact_labels ? 0 : header_print_profile(out, input, values);

	if (r)
		return r;
	if (options->n_filters)
		fputs("Active filters:\n", out);
	for (size_t i = 0; i < options->n_filters; i++) {
		char filter[FILTER_MAX + sizeof("…")];
		int length = snprintf(filter, sizeof(filter), "%.*s", FILTER_MAX,
				      options->filters[i]);

		if (options->filters[i][length])
			memcpy(filter + length, "…", sizeof("…"));
		header_put_line(out, "   ", filter);
	}
	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];

		flat = graph_add_clamped(flat, graph_mean(node->flat, node->flat_divisor));
	}
	fprintf(out, "Showing nodes accounting for %s, %s of %s total\n",
		values_print(values, shown, flat), values_print_share(share, flat, input->total),
		values_print(values, total, input->total));
	if (!input->total)
		return 0;
	header_put_dropped(out, g->n_dropped, "node", "cum",
			   values_clamp((double)input->total * g->options.nodefraction), values);
	if (g->options.is_picture)
		header_put_dropped(out, g->n_dropped_calls, "edge", "freq",
				   values_clamp((double)input->total * g->options.edgefraction),
				   values);
	if (g->n_order < g->n_before)
		fprintf(out, "Showing top %zu nodes out of %zu\n", g->n_order, g->n_before);
	return 0;
}
