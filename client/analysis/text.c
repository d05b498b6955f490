/* SPDX-License-Identifier: MIT */
/* --text, --top: a line for each function, with what it weighs by itself and with its callees. */
#include "client/analysis/graph.h"
#include "client/analysis/header.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"

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
