/* SPDX-License-Identifier: MIT */
/* --text, --top: a line for each function, with what it weighs by itself and with its callees. */
#include "client/analysis/graph.h"
#include "client/analysis/header.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/utf8.h"

static int text_init(struct view *view)
{
	const struct graph_options options = graph_options_from(&view->options, false);

	return graph_new(&view->graph, &options);
}

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
		const struct graph_node *node = &g->nodes[g->order[i]];
		int64_t flat = graph_mean(node->flat, node->flat_divisor);
		int64_t cum = graph_mean(node->cum, node->cum_divisor);
		struct values_column f, s, c;

		sum = graph_add_clamped(sum, flat);
		values_column(&values, &f, flat, input->total);
		values_column(&values, &s, sum, input->total);
		values_column(&values, &c, cum, input->total);
		fprintf(out, "%*s %s %s %*s %s  %s%s\n", utf8_field_width(f.value, 10), f.value,
			f.share, s.share, utf8_field_width(c.value, 10), c.value, c.share,
			graph_name(g, g->order[i]), text_inline_suffix(g, g->order[i]));
	}
	return 0;
}

const struct view_class view_text = {.name = "text", .init = text_init, .end = text_end};
