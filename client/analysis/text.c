/* SPDX-License-Identifier: MIT */
/* --text, --top: a line for each function, with what it weighs by itself and with its callees. */
#include <errno.h>
#include <stdlib.h>

#include "client/analysis/graph.h"
#include "client/analysis/header.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/utf8.h"

struct text {
	struct view view;
	struct view_options options;
	struct graph *graph;
};

static void text_destroy(struct view *view)
{
	struct text *t = (struct text *)view;

	if (t)
		graph_free(t->graph);
	free(t);
}

static int text_make(struct view **ret, const struct view_options *options,
		     struct profile_message *message)
{
	struct graph_options graph_options;
	struct text *t = calloc(1, sizeof(*t));
	int r;

	(void)message;
	if (!t)
		return error_origin(-ENOMEM);
	t->view.class = &view_text;
	t->options = *options;
	graph_options_from(&graph_options, options, false);
	r = graph_new(&t->graph, &graph_options);
	if (r) {
		text_destroy(&t->view);
		return r;
	}
	*ret = &t->view;
	return 0;
}

static int text_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	return graph_add(((struct text *)view)->graph, input, stack);
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

static int text_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		    struct profile_message *message)
{
	struct text *t = (struct text *)view;
	const struct graph *g = t->graph;
	struct values values;
	int64_t sum = 0;
	int r = graph_end(t->graph, input, ret_again);

	(void)message;
	if (r || *ret_again)
		return r;
	values_init_for(&values, input, &t->options, g, false);
	r = header_print_graph(out, input, &t->options, &values, g);
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

const struct view_class view_text = {
	.name = "text",
	.make = text_make,
	.add = text_add,
	.end = text_end,
	.destroy = text_destroy,
};
