/* SPDX-License-Identifier: MIT */
/*
 * --tree: each function between those that call it and those that it calls. --peek: the same of
 * functions whose names match, with all of their calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/analysis/graph.h"
#include "client/analysis/header.h"
#include "client/analysis/regex.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/message.h"
#include "common/utf8.h"

static const char separator[] =
	"----------------------------------------------------------+-------------";
static const char legend[] = "      flat  flat%   sum%        cum   cum%   calls calls% + context";

struct tree {
	struct view view;
	struct view_options options;
	struct graph *graph;
	struct regex *regex; /* NULL: all */
};

static void tree_destroy(struct view *view)
{
	struct tree *t = (struct tree *)view;

	if (t) {
		graph_free(t->graph);
		regex_free(t->regex);
	}
	free(t);
}

static int tree_init(struct tree *t, const struct view_options *options,
		     struct profile_message *message)
{
	bool is_peek = t->view.class == &view_peek;
	struct graph_options graph_options;

	t->options = *options;
	t->options.no_trim |= is_peek;
	graph_options_from(&graph_options, &t->options, true);
	graph_options.wants_calls = true;
	if (is_peek) {
		const char *pattern = options->pattern ? options->pattern : "";
		int r = regex_new(&t->regex, "peek", pattern, message);

		if (r)
			return r < 0 ? r : VIEW_E_BAD_OPTION;
	}
	return graph_new(&t->graph, &graph_options);
}

static int tree_make_class(struct view **ret, const struct view_class *class,
			   const struct view_options *options, struct profile_message *message)
{
	struct tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_origin(-ENOMEM);
	t->view.class = class;
	r = tree_init(t, options, message);
	if (r) {
		tree_destroy(&t->view);
		return r;
	}
	*ret = &t->view;
	return 0;
}

static int tree_make(struct view **ret, const struct view_options *options,
		     struct profile_message *message)
{
	return tree_make_class(ret, &view_tree, options, message);
}

static int peek_make(struct view **ret, const struct view_options *options,
		     struct profile_message *message)
{
	return tree_make_class(ret, &view_peek, options, message);
}

static int tree_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	return graph_add(((struct tree *)view)->graph, input, stack);
}

struct writer {
	FILE *out;
	const struct graph *g;
	struct values values;
	int64_t sum, total; /* of flat: down to here, and of all samples */
};

/* Calls of a node, as shares of its @cum. */
static void tree_put_calls(const struct writer *w, const uint32_t *calls, size_t n, bool of_callers,
			   int64_t cum)
{
	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &w->g->calls[calls[i]];
		struct values_column c;

		/* pprof prints sums here, also of means. */
		values_column(&w->values, &c, call->weight, cum);
		fprintf(w->out, "%*s %s |   %s%s\n", utf8_field_width(c.value, 50), c.value,
			c.share, graph_name(w->g, of_callers ? call->caller : call->callee),
			call->is_inlined ? " (inline)" : "");
	}
}

static void tree_put_node(struct writer *w, uint32_t id)
{
	const struct graph_node *node = &w->g->nodes[id];
	int64_t flat = graph_mean(node->flat, node->flat_divisor);
	int64_t cum = graph_mean(node->cum, node->cum_divisor);
	struct values_column f, s, c;
	const uint32_t *calls;
	size_t n;

	fprintf(w->out, "%s\n", separator);
	calls = graph_callers(w->g, id, &n);
	tree_put_calls(w, calls, n, true, cum);
	w->sum = graph_add_clamped(w->sum, flat);
	values_column(&w->values, &f, flat, w->total);
	values_column(&w->values, &s, w->sum, w->total);
	values_column(&w->values, &c, cum, w->total);
	fprintf(w->out, "%*s %s %s %*s %s                | %s\n", utf8_field_width(f.value, 10),
		f.value, f.share, s.share, utf8_field_width(c.value, 10), c.value, c.share,
		graph_name(w->g, id));
	calls = graph_callees(w->g, id, &n);
	tree_put_calls(w, calls, n, false, cum);
}

static int tree_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		    struct profile_message *message)
{
	struct tree *t = (struct tree *)view;
	const struct graph *g = t->graph;
	struct writer w = {.out = out, .g = g, .total = input->total};
	size_t n_shown = 0;
	int r = graph_end(t->graph, input, ret_again);

	if (r || *ret_again)
		return r;
	for (size_t i = 0; t->regex && i < g->n_order && !n_shown; i++)
		n_shown += regex_matches(t->regex, graph_name(g, g->order[i]));
	if (t->regex && !n_shown)
		return profile_refuse(message, VIEW_E_NO_MATCH, "no matches found for regexp: %s",
				      t->options.pattern ? t->options.pattern : "");
	values_init_for(&w.values, input, &t->options, g, false);
	r = header_print_graph(out, input, &t->options, &w.values, g);
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
	.make = tree_make,
	.add = tree_add,
	.end = tree_end,
	.destroy = tree_destroy,
};

const struct view_class view_peek = {
	.name = "peek",
	.make = peek_make,
	.add = tree_add,
	.end = tree_end,
	.destroy = tree_destroy,
};
