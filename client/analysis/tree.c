/* SPDX-License-Identifier: MIT */
/*
 * --text, --top: a line for each function, with what it weighs by itself and with its callees.
 * --tree: each function between those that call it and those that it calls. --peek: the same of
 * functions whose names match, with all of their calls.
 */
#include "client/analysis/graph.h"
#include "client/analysis/regex.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/profile/pprof.h"
#include "common/utf8.h"

/* Whether it was inlined wherever, or at some places where, it was called. */
static const char *text_inline_suffix(const struct graph *g, uint32_t node)
{
	bool is_inlined = false, is_called = false;
	size_t n;
	const uint32_t *callers = graph_callers(g, node, &n);

	for (size_t i = 0; i < n; i++) {
		is_inlined |= g->calls[callers[i]].is_inlined;
		is_called |= !g->calls[callers[i]].is_inlined;
	}
	return !is_inlined ? "" : is_called ? " (partial-inline)" : " (inline)";
}

static int text_end(struct view *view, const struct view_input *input, FILE *out)
{
	const struct graph *g = view->graph;
	struct values values;
	int64_t sum = 0;
	int r;

	values_init_for(&values, view, input, false);
	r = header_print_graph(out, view, input, &values);
	if (r)
		return r;
	fprintf(out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
	for (size_t i = 0; i < g->n_order; i++) {
		uint32_t id = g->order[i];

		values_print_node(out, &values, &g->nodes[id], &sum, input->total);
		fprintf(out, "  %s%s\n", graph_name(g, id), text_inline_suffix(g, id));
	}
	return 0;
}

const struct view_class view_text = {.name = "text", .graph = {.is_wanted = true}, .end = text_end};

static const char separator[] =
	"----------------------------------------------------------+-------------";
static const char legend[] = "      flat  flat%   sum%        cum   cum%   calls calls% + context";

struct tree {
	struct view view;
	struct regex *regex; /* NULL: all */
};

static void tree_deinit(struct view *view)
{
	regex_free(((struct tree *)view)->regex);
}

static int peek_init(struct view *view)
{
	int r = regex_new(&((struct tree *)view)->regex, "peek", view->options.pattern,
			  view->message);

	return r > 0 ? VIEW_E_BAD_OPTION : r;
}

struct tree_writer {
	FILE *out;
	const struct graph *g;
	struct values values;
	int64_t sum, total; /* of flat: down to here, and of all samples */
};

/* Calls of a node, or those to it, as shares of its @cum. */
static void tree_put_calls(const struct tree_writer *w, uint32_t id, bool of_callers, int64_t cum)
{
	size_t n;
	const uint32_t *calls = of_callers ? graph_callers(w->g, id, &n)
					   : graph_callees(w->g, id, &n);

	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &w->g->calls[calls[i]];
		struct values_column c;

		/* pprof prints sums here, also of means. */
		values_column(&w->values, &c, call->weight.value, cum);
		fprintf(w->out, "%*s %s |   %s%s\n", utf8_field_width(c.value, 50), c.value,
			c.share, graph_name(w->g, of_callers ? call->caller : call->callee),
			call->is_inlined ? " (inline)" : "");
	}
}

static void tree_put_node(struct tree_writer *w, uint32_t id)
{
	const struct graph_node *node = &w->g->nodes[id];
	int64_t cum = graph_mean(node->cum);

	fprintf(w->out, "%s\n", separator);
	tree_put_calls(w, id, true, cum);
	values_print_node(w->out, &w->values, node, &w->sum, w->total);
	fprintf(w->out, "                | %s\n", graph_name(w->g, id));
	tree_put_calls(w, id, false, cum);
}

static int tree_end(struct view *view, const struct view_input *input, FILE *out)
{
	const struct tree *t = (const struct tree *)view;
	const struct graph *g = view->graph;
	struct tree_writer w = {.out = out, .g = g, .total = input->total};
	size_t n_shown = 0;
	int r;

	for (size_t i = 0; t->regex && i < g->n_order && !n_shown; i++)
		n_shown += regex_matches(t->regex, graph_name(g, g->order[i]));
	if (t->regex && !n_shown)
		return profile_refuse(view->message, VIEW_E_NO_MATCH,
				      "no matches found for regexp: %s", view->options.pattern);
	values_init_for(&w.values, view, input, false);
	r = header_print_graph(out, view, input, &w.values);
	if (r)
		return r;
	fprintf(out, "%s\n%s\n", separator, legend);
	for (size_t i = 0; i < g->n_order; i++)
		if (!t->regex || regex_matches(t->regex, graph_name(g, g->order[i])))
			tree_put_node(&w, g->order[i]);
	if (g->n_order)
		fprintf(out, "%s\n", separator);
	return 0;
}

const struct view_class view_tree = {
	.name = "tree",
	.size = sizeof(struct tree),
	.graph = {.is_wanted = true, .wants_calls = true},
	.end = tree_end,
};

const struct view_class view_peek = {
	.name = "peek",
	.size = sizeof(struct tree),
	.graph = {.is_wanted = true, .wants_calls = true, .is_whole = true},
	.init = peek_init,
	.end = tree_end,
	.deinit = tree_deinit,
};
