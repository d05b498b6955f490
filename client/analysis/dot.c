/* SPDX-License-Identifier: MIT */
/*
 * --dot: the call graph in graphviz's language. Boxes as the user guide of gperftools describes
 * them: the name, a line for each of its parts, the weight by itself (%), and "of" that with all
 * callees; its size of print tells the one, its colour the other. Arrows are calls, as wide as they
 * weigh; dotted ones pass over boxes that are left out. Labels hang below as small boxes.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/graph_tags.h"
#include "client/analysis/node_name.h"
#include "client/analysis/title.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

#define FONT_MIN    8
#define FONT_GROWTH 16.0
#define WEIGHT_MAX  100
#define WIDTH_MAX   5

/* What is needed while writing. */
struct dot_writer {
	FILE *out;
	const struct view *view;
	const struct graph *g;
	const struct view_input *input;
	struct values values;
	int64_t max_flat;
	uint32_t *numbers; /* of boxes, by node, from 1 on; 0: it is not shown */
	bool *has_tags;    /* by node */
};

/*
 * Inside of quotes: @newline is what ends a line, \\n centred or \\l to the left. One byte that is
 * no UTF-8 would make graphviz take all of the text for Latin-1.
 */
static void dot_put_escaped(FILE *out, const char *c, const char *newline)
{
	bool is_harmless;

	for (size_t n; *c; c += n) {
		n = utf8_next(c, &is_harmless);
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c == '\n')
			fputs(newline, out);
		else if (!is_harmless)
			fputc('?', out);
		else if (!utf8_character(c, n))
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(c, 1, n, out);
	}
}

/*
 * The colour of a share of the total, -1 .. 1: grey for little, red for much, green for much less.
 * A pale one fills a box, a strong one draws its border.
 */
static void dot_put_color(FILE *out, int64_t value, int64_t total, bool is_pale)
{
	double share = total ? (double)value / fabs((double)total) : 0;
	double saturation = is_pale ? .1 : 1, brightness = is_pale ? .93 : .7, strength;
	double strong, weak, blue;

	share = share > 1 ? 1 : share < -1 ? -1 : share;
	/* Close to nothing it would be yellow. */
	if (fabs(share) < .2)
		saturation *= fabs(share) / .2;
	/* Small shares are to differ from grey, too. */
	strength = pow(fabs(share), .3);
	strong = brightness * 255;
	weak = brightness * (1 - saturation * strength) * 255;
	blue = brightness * (1 - saturation) * 255;
	fprintf(out, "#%02x%02x%02x", (unsigned)(share < 0 ? weak : strong),
		(unsigned)(share < 0 ? strong : weak), (unsigned)blue);
}

static int dot_put_legend(const struct dot_writer *w)
{
	cleanup(memory_text_deinit) struct memory_text lines = {0};
	cleanup(freep) char *title = NULL;
	int r = report_title_print(w->input, "profile", &title) ?:
		memory_text_open(&lines) ?:
		header_print_graph(lines.out, w->view, w->input, &w->values) ?:
		memory_text_close(&lines);

	if (r)
		return r;
	fputs("digraph \"", w->out);
	dot_put_escaped(w->out, title, " ");
	fputs("\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n"
	      "subgraph cluster_L { Legend [shape=box fontsize=16 label=\"",
	      w->out);
	dot_put_escaped(w->out, lines.text, "\\l");
	fputs("\"] }\n", w->out);
	return 0;
}

static unsigned dot_font_size(const struct dot_writer *w, int64_t flat)
{
	double share = w->max_flat ? fabs((double)flat) / (double)w->max_flat : 0;

	return FONT_MIN + (unsigned)ceil(FONT_GROWTH * sqrt(share));
}

static void dot_put_value(const struct dot_writer *w, int64_t value)
{
	char text[MEASURE_TEXT_MAX];

	dot_put_escaped(w->out, values_print(&w->values, text, value), " ");
}

/* The end of a tooltip: what it is about weighs @value. */
static void dot_end_tooltip(const struct dot_writer *w, int64_t value)
{
	fputs(" (", w->out);
	dot_put_value(w, value);
	fputs(")\"", w->out);
}

static int dot_put_box(const struct dot_writer *w, uint32_t id)
{
	const struct graph_node *node = &w->g->nodes[id];
	int64_t flat = graph_mean(node->flat);
	int64_t cum = graph_mean(node->cum);
	char share[MEASURE_TEXT_MAX];
	cleanup(freep) char *name = NULL;
	int64_t total = w->input->total;
	int r = node_name_lines(w->input->profile, graph_frame(w->g, id), &name);

	if (r)
		return r;
	fprintf(w->out, "N%" PRIu32 " [label=\"", w->numbers[id]);
	dot_put_escaped(w->out, name, "\\n");
	fputs("\\n", w->out);
	dot_put_value(w, flat);
	if (flat)
		fprintf(w->out, " (%s)", values_print_share(share, flat, total));
	if (cum != flat) {
		fprintf(w->out, "%sof ", flat ? "\\n" : " ");
		dot_put_value(w, cum);
		fprintf(w->out, " (%s)", values_print_share(share, cum, total));
	}
	fprintf(w->out, "\" id=\"node%" PRIu32 "\" fontsize=%u shape=box tooltip=\"",
		w->numbers[id], dot_font_size(w, flat));
	dot_put_escaped(w->out, graph_name(w->g, id), " ");
	dot_end_tooltip(w, cum);
	fputs(" color=\"", w->out);
	dot_put_color(w->out, cum, total, false);
	fputs("\" fillcolor=\"", w->out);
	dot_put_color(w->out, cum, total, true);
	fputs("\"]\n", w->out);
	return 0;
}

static void dot_put_arrow(const struct dot_writer *w, const struct graph_call *call)
{
	int64_t weight = graph_mean(call->weight), total = w->input->total;
	const char *caller = graph_name(w->g, call->caller);
	const char *callee = graph_name(w->g, call->callee);
	double share = total ? fabs((double)weight / (double)total) : 0;

	/* More than all is possible where profiles are compared. */
	share = share > 1 ? 1 : share;
	fprintf(w->out, "N%" PRIu32 " -> N%" PRIu32 " [label=\" ", w->numbers[call->caller],
		w->numbers[call->callee]);
	dot_put_value(w, weight);
	fprintf(w->out, "%s\" weight=%u penwidth=%u color=\"",
		call->is_inlined ? "\\n (inline)" : "", 1 + (unsigned)(share * WEIGHT_MAX),
		1 + (unsigned)(share * WIDTH_MAX));
	dot_put_color(w->out, weight, total, false);
	fputs("\" tooltip=\"", w->out);
	dot_put_escaped(w->out, caller, " ");
	fputs(call->is_residual ? " ... " : " -> ", w->out);
	dot_put_escaped(w->out, callee, " ");
	dot_end_tooltip(w, weight);
	fprintf(w->out, "%s%s]\n", call->is_residual ? " style=\"dotted\"" : "",
		w->has_tags[call->caller] ? " minlen=2" : "");
}

/* A small box that hangs below a larger one. */
struct tag_box {
	const char *parent; /* "N1", "N1_t0" */
	char kind;          /* 't'ext or 'n'umber */
	size_t index;       /* of its kind */
	bool is_dotted;
};

static void dot_put_tag(const struct dot_writer *w, const struct tag_box *box, const char *name,
			int64_t weight)
{
	const char *style = box->is_dotted ? " style=\"dotted\"" : "";

	fprintf(w->out, "%s_%c%zu [label=\"", box->parent, box->kind, box->index);
	dot_put_escaped(w->out, name, "\\n");
	fputs("\" fontsize=8 shape=box3d tooltip=\"", w->out);
	dot_put_value(w, weight);
	fprintf(w->out, "\"]\n%s -> %s_%c%zu [label=\" ", box->parent, box->parent, box->kind,
		box->index);
	dot_put_value(w, weight);
	fputs("\" weight=100 tooltip=\"", w->out);
	dot_put_value(w, weight);
	fprintf(w->out, "\"%s]\n", style);
}

static int compare_tags(const void *a, const void *b, void *userdata)
{
	const struct graph_tag *x = a, *y = b;
	const bool *by_flat = userdata;
	int64_t wx = *by_flat ? 0 : llabs(x->cum.value), wy = *by_flat ? 0 : llabs(y->cum.value);

	if (wx == wy) {
		wx = llabs(x->flat.value);
		wy = llabs(y->flat.value);
	}
	return order_of(wy, wx) ?: strcmp(x->is.name, y->is.name);
}

/*
 * Numbers below a box. More than four are told as four ranges, each in units of its own: each one
 * joins that of the four heaviest ones that it is nearest to.
 */
static void dot_put_numbers(const struct dot_writer *w, uint32_t id, uint32_t below,
			    const char *parent, bool by_flat, bool *ret_some)
{
	struct graph_tag least[GRAPH_TAGS_SHOWN], most[GRAPH_TAGS_SHOWN], sum[GRAPH_TAGS_SHOWN];
	size_t n, n_groups;
	struct graph_tag *tags = graph_tags_of(w->g->tags, id, true, below, &n);

	if (!n)
		return;
	qsort_r(tags, n, sizeof(*tags), compare_tags, &by_flat);
	n_groups = n < GRAPH_TAGS_SHOWN ? n : GRAPH_TAGS_SHOWN;
	for (size_t i = 0; i < n; i++) {
		const struct graph_tag *tag = &tags[i];
		size_t near = i < n_groups ? i : 0;

		for (size_t j = 1; j < n_groups && i >= n_groups; j++)
			if (fabs((double)tag->is.number - (double)tags[j].is.number) <
			    fabs((double)tag->is.number - (double)tags[near].is.number))
				near = j;
		if (i < n_groups) {
			least[i] = most[i] = sum[i] = *tag;
			continue;
		}
		least[near] = tag->is.number < least[near].is.number ? *tag : least[near];
		most[near] = tag->is.number > most[near].is.number ? *tag : most[near];
		graph_sum_add(&sum[near].flat, &tag->flat);
		graph_sum_add(&sum[near].cum, &tag->cum);
	}
	for (size_t i = 0; i < n_groups; i++) {
		bool is_flat = by_flat || graph_mean(sum[i].flat) == graph_mean(sum[i].cum);
		int64_t weight = graph_mean(is_flat ? sum[i].flat : sum[i].cum);
		char range[2 * MEASURE_TEXT_MAX + 4], from[MEASURE_TEXT_MAX], to[MEASURE_TEXT_MAX];

		measure_print(from, sizeof(from), least[i].is.number, least[i].is.unit, "auto");
		measure_print(to, sizeof(to), most[i].is.number, most[i].is.unit, "auto");
		if (n == n_groups)
			snprintf(range, sizeof(range), "%s", least[i].is.name);
		else if (least[i].is.number == most[i].is.number)
			snprintf(range, sizeof(range), "%s", from);
		else
			snprintf(range, sizeof(range), "%s..%s", from, to);
		if (!weight)
			continue;
		dot_put_tag(w, &(struct tag_box){parent, 'n', i, !is_flat}, range, weight);
		*ret_some = true;
	}
}

static bool calls_others(const struct graph *g, uint32_t id)
{
	size_t n;
	const uint32_t *calls = graph_callees(g, id, &n);

	for (size_t i = 0; i < n; i++)
		if (g->calls[calls[i]].callee != id)
			return true;
	return false;
}

/* Of a box that calls others its own weight is told by labels, else all of it. */
static void dot_put_tags(const struct dot_writer *w, uint32_t id)
{
	bool *has_tags = &w->has_tags[id], by_flat = calls_others(w->g, id);
	size_t n;
	char parent[32];
	struct graph_tag *tags = graph_tags_of(w->g->tags, id, false, GRAPH_TAG_NONE, &n);

	if (n)
		qsort_r(tags, n, sizeof(*tags), compare_tags, &by_flat);
	for (size_t i = 0; i < n && i < GRAPH_TAGS_SHOWN; i++) {
		int64_t weight = graph_mean(by_flat ? tags[i].flat : tags[i].cum);

		if (!weight)
			continue;
		snprintf(parent, sizeof(parent), "N%" PRIu32, w->numbers[id]);
		dot_put_tag(w, &(struct tag_box){parent, 't', i, false}, tags[i].is.name, weight);
		*has_tags = true;
		snprintf(parent, sizeof(parent), "N%" PRIu32 "_t%zu", w->numbers[id], i);
		dot_put_numbers(w, id, tags[i].kind, parent, by_flat, has_tags);
	}
	snprintf(parent, sizeof(parent), "N%" PRIu32, w->numbers[id]);
	dot_put_numbers(w, id, GRAPH_TAG_NONE, parent, by_flat, has_tags);
}

/*
 * Arrows, heaviest first, which helps graphviz. With a limit to how many begin and end at a box,
 * each box keeps at least one that leads to it.
 */
static int dot_put_arrows(const struct dot_writer *w)
{
	cleanup(freep) uint32_t *calls = calloc(w->g->calls_in.n + 1, sizeof(*calls));
	cleanup(freep) uint32_t *n_in = calloc(w->g->nodes_in.n + 1, sizeof(*n_in));
	cleanup(freep) uint32_t *n_out = calloc(w->g->nodes_in.n + 1, sizeof(*n_out));
	size_t n = 0,
	       maxdegree = w->view->options.maxdegree > 0 ? (size_t)w->view->options.maxdegree : 0;

	if (!calls || !n_in || !n_out)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < w->g->calls_in.n; i++) {
		const struct graph_call *call = &w->g->calls[i];

		if (!call->is_gone && w->numbers[call->caller] && w->numbers[call->callee])
			calls[n++] = i;
	}
	graph_sort_calls(w->g, calls, n);
	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &w->g->calls[calls[i]];

		if (maxdegree && n_in[call->callee] &&
		    (n_out[call->caller] >= maxdegree || n_in[call->callee] >= maxdegree))
			continue;
		n_out[call->caller]++;
		n_in[call->callee]++;
		dot_put_arrow(w, call);
	}
	return 0;
}

static int dot_put_graph(struct dot_writer *w)
{
	const struct graph *g = w->g;
	int r = dot_put_legend(w);

	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		int64_t flat = llabs(graph_mean(node->flat));

		w->numbers[g->order[i]] = (uint32_t)i + 1;
		if (flat > w->max_flat)
			w->max_flat = flat;
	}
	for (size_t i = 0; i < g->n_order && !r; i++) {
		r = dot_put_box(w, g->order[i]);
		if (!r)
			dot_put_tags(w, g->order[i]);
	}
	if (!r)
		r = dot_put_arrows(w);
	fputs("}\n", w->out);
	return r;
}

static int dot_end(struct view *view, const struct view_input *input, FILE *out)
{
	const struct graph *g = view->graph;
	cleanup(freep) uint32_t *numbers = calloc(g->nodes_in.n + 1, sizeof(*numbers));
	cleanup(freep) bool *has_tags = calloc(g->nodes_in.n + 1, sizeof(*has_tags));
	struct dot_writer w = {.out = out,
			       .view = view,
			       .g = g,
			       .input = input,
			       .numbers = numbers,
			       .has_tags = has_tags};

	if (!numbers || !has_tags)
		return error_origin(-ENOMEM);
	values_init_for(&w.values, view, input, false);
	return dot_put_graph(&w);
}

const struct view_class view_dot = {
	.name = "dot",
	.graph = {.is_wanted = true, .wants_calls = true, .is_picture = true, .is_tree = true},
	.end = dot_end,
};
