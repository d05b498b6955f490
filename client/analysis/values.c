/* SPDX-License-Identifier: MIT */
/*
 * Values as reports print them, and the lines above a report, in pprof's order, and one of profd's
 * own: of the ledgers that windows carry as comments, several files' added up, it reports what was
 * lost and for which reasons. Ledgers are the machine's, for nobody knows whose a lost sample was;
 * which stacks are whole is known of each sample, and is printed of those that are shown.
 */
#include "client/analysis/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/analysis/graph.h"
#include "client/analysis/node_name.h"
#include "client/analysis/title.h"
#include "client/analysis/view.h"
#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/memory_text.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"
#include "common/utf8.h"

#define LEDGER         "# profd ledger: " /* see windows.h */
#define FILTER_MAX     80
#define ENOUGH_SAMPLES 400 /* shares are off by 5 points or less */

void values_init(struct values *v, const struct view_input *input,
		 const struct view_options *options)
{
	double factor = options->divide_by != 0 ? 1 / options->divide_by : 1;

	*v = (struct values){
		.unit = profile_string(input->profile,
				       input->profile->sample_types[input->type].unit),
		.to = options->unit && *options->unit ? options->unit : "minimum",
		.factor = factor > 0 ? factor : 1, /* pprof takes no notice of others */
	};
}

int64_t values_clamp(double x)
{
	if (x >= (double)INT64_MAX)
		return INT64_MAX;
	return x > (double)-INT64_MAX ? (int64_t)x : -INT64_MAX;
}

int64_t values_divide(const struct values *v, int64_t value)
{
	return v->factor == 1 ? value : values_clamp((double)value * v->factor);
}

void values_init_for(struct values *v, const struct view *view, const struct view_input *input,
		     bool whole)
{
	const struct graph *g = view->graph;
	int64_t smallest = 0, largest;

	values_init(v, input, &view->options);
	if (strcmp(v->to, "minimum") != 0 || !g->n_order)
		return;
	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		int64_t least = llabs(graph_mean(node->flat));

		if (!least)
			least = llabs(graph_mean(node->cum));
		if (least && (!smallest || least < smallest))
			smallest = least;
	}
	if (!smallest)
		smallest = input->total;
	smallest = values_divide(v, smallest);
	largest = whole ? smallest : values_divide(v, input->total);
	v->to = measure_choose_unit(smallest, largest, v->unit);
}

const char *values_print(const struct values *v, char *buffer, int64_t value)
{
	return measure_print(buffer, MEASURE_TEXT_MAX, values_divide(v, value), v->unit, v->to);
}

const char *values_print_share(char *buffer, int64_t value, int64_t total)
{
	char text[MEASURE_TEXT_MAX];

	measure_print_percentage(text, sizeof(text), value, total);
	snprintf(buffer, MEASURE_TEXT_MAX, "%s", text + strspn(text, " "));
	return buffer;
}

void values_column(const struct values *v, struct values_column *ret, int64_t value, int64_t total)
{
	values_print(v, ret->value, value);
	measure_print_percentage(ret->share, sizeof(ret->share), value, total);
}

void values_print_node(FILE *out, const struct values *v, const struct graph_node *node,
		       int64_t *sum, int64_t total)
{
	int64_t flat = graph_mean(node->flat);
	struct values_column f, s, c;

	*sum = graph_add_clamped(*sum, flat);
	values_column(v, &f, flat, total);
	values_column(v, &s, *sum, total);
	values_column(v, &c, graph_mean(node->cum), total);
	fprintf(out, "%*s %s %s %*s %s", utf8_field_width(f.value, 10), f.value, f.share, s.share,
		utf8_field_width(c.value, 10), c.value, c.share);
}

const char *values_type(const struct view_input *input, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s%s", input->mean ? "mean_" : "",
		 profile_string(input->profile, input->profile->sample_types[input->type].type));
	return buffer;
}

/* --- above a report --------------------------------------------------------------------------- */

/* One line, of texts of strangers. */
static void header_put_line(FILE *out, const char *what, const char *text)
{
	fputs(what, out);
	utf8_write_harmless(out, text, "");
	fputc('\n', out);
}

static bool header_begins_with(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* "lost.skipped=3 expected=..." as "Lost: 3 of 100 samples of the machine (skipped 3)". */
static int header_put_ledger(FILE *out, char *ledger, const struct view_input *input)
{
	cleanup(memory_text_deinit) struct memory_text reasons = {0};
	uint64_t expected = 0, lost = 0;
	bool is_known = false;
	char *rest;
	int r = memory_text_open(&reasons);

	if (r)
		return r;
	for (char *word = strtok_r(ledger, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		size_t name = strcspn(word, "=");
		size_t digits = word[name] ? strspn(word + name + 1, "0123456789") : 0;
		uint64_t n;

		/* Not longer than those of a sum. */
		if (!digits || digits > 19 || word[name + 1 + digits])
			continue;
		n = strtoull(word + name + 1, NULL, 10);
		if (header_begins_with(word, "expected=")) {
			is_known = true;
			expected = clamped_add_unsigned(expected, n);
		} else if (header_begins_with(word, "lost.")) {
			lost = clamped_add_unsigned(lost, n);
			if (n && name > 5)
				fprintf(reasons.out, "%s%.*s %" PRIu64,
					ftell(reasons.out) ? ", " : " (", (int)name - 5, word + 5,
					n);
		}
	}
	r = memory_text_close(&reasons);
	if (r || !is_known)
		return r;
	fprintf(out, "Lost: %" PRIu64 " of %" PRIu64 " samples of the machine%s%s", lost, expected,
		reasons.text, reasons.length ? ")" : "");
	if (input->n_rootless)
		fprintf(out, "; stacks without a root: %" PRId64 " of %" PRId64, input->n_rootless,
			input->n_shown);
	if (input->n_guessed)
		fprintf(out, "; guessed stacks: %" PRId64 " of %" PRId64, input->n_guessed,
			input->n_shown);
	fputc('\n', out);
	return 0;
}

int header_print_losses(FILE *out, const struct view_input *input)
{
	const struct profile *p = input->profile;
	cleanup(freep) char *ledger = NULL;
	int r = 0;

	/* A file may have several: other programs put profiles together, too. */
	for (size_t i = 0; i < p->n_comments && !r; i++) {
		const char *comment = profile_string(p, p->comments[i]);

		if (header_begins_with(comment, LEDGER))
			r = ledger_line_add(&ledger, comment + strlen(LEDGER));
	}
	if (r || !ledger)
		return r;
	utf8_make_harmless(ledger, "");
	return header_put_ledger(out, ledger, input);
}

/* How many samples there would be, if each were of one period: one of a long wait is of many. */
static int64_t header_count_periods(const struct view_input *input)
{
	const struct profile *p = input->profile;
	const struct profile_value_type *type = &p->sample_types[input->type];
	double ratio = p->period > 0 ? measure_ratio(profile_string(p, type->unit),
						     profile_string(p, p->period_type.unit))
				     : 0;
	double n = ratio * (double)input->total / (p->period > 0 ? (double)p->period : 1);

	return n > (double)input->n_shown ? (int64_t)fmin(n, 0x1p62) : input->n_shown;
}

/*
 * Of @n samples, a share of one half is between 50 - 98 / sqrt(n) and 50 + 98 / sqrt(n) % in 19 of
 * 20 reports; other shares are nearer to the truth.
 */
void header_print_few(FILE *out, const struct view_input *input)
{
	const int64_t n = header_count_periods(input);
	bool is_ours = false;

	for (size_t i = 0; i < input->profile->n_comments && !is_ours; i++)
		is_ours = header_begins_with(
			profile_string(input->profile, input->profile->comments[i]), LEDGER);
	if (is_ours && n > 0 && n < ENOUGH_SAMPLES)
		fprintf(out, "Few samples: %" PRId64 "; shares may be off by up to %.0f points\n",
			n, fmin(98 / sqrt((double)n), 100));
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

/* Whose samples these are; where that is not known, pprof's lines of the first mapping. */
static int header_put_subject(FILE *out, const struct view_input *input)
{
	cleanup(report_title_deinit) struct report_title title;
	const struct profile *p = input->profile;
	int r = report_title_init(&title, input);

	if (r)
		return r;
	if (title.services)
		header_put_line(out, "Service: ", title.services);
	if (!title.services && p->n_mappings && p->mappings[0].path)
		header_put_line(out,
				"File: ", node_name_base(profile_string(p, p->mappings[0].path)));
	if (!title.services && p->n_mappings && p->mappings[0].build_id)
		header_put_line(out, "Build ID: ", profile_string(p, p->mappings[0].build_id));
	if (title.host)
		header_put_line(out, "Host: ", title.host);
	return 0;
}

int header_print_profile(FILE *out, const struct view_input *input, const struct values *values)
{
	const struct profile *p = input->profile;
	char type[256], range[TITLE_RANGE_MAX];
	int r;

	for (size_t i = 0; i < input->n_notes; i++)
		header_put_line(out, "", input->notes[i]);
	r = header_put_subject(out, input);
	if (r)
		return r;
	for (size_t i = 0; i < p->n_comments; i++)
		if (*profile_string(p, p->comments[i]) != '#')
			header_put_line(out, "", profile_string(p, p->comments[i]));
	if (p->sample_types[input->type].type)
		header_put_line(out, "Type: ", values_type(input, type, sizeof(type)));
	if (p->doc_url)
		header_put_line(out, "Doc: ", profile_string(p, p->doc_url));
	if (report_title_range(p, range))
		fprintf(out, "Time: %s\n", range);
	header_put_total(out, input, values);
	header_print_few(out, input);
	return header_print_losses(out, input);
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
	for (size_t i = 0; i < g->n_order; i++)
		flat = graph_add_clamped(flat, graph_mean(g->nodes[g->order[i]].flat));
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
