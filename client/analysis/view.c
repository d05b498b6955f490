/* SPDX-License-Identifier: MIT */
#include "client/analysis/view.h"

#include <errno.h>

#include "client/analysis/graph.h"
#include "client/analysis/stack_tree.h"
#include "common/error.h"

int report_view_new(struct view **ret, const struct view_class *class,
		    const struct view_options *options, struct profile_message *message)
{
	size_t size = class->size > sizeof(struct view) ? class->size : sizeof(struct view);
	cleanup(report_view_freep) struct view *view = calloc(1, size);
	int r;

	if (!view)
		return error_origin(-ENOMEM);
	view->class = class;
	view->message = message;
	view->options = *options;
	r = class->init ? class->init(view) : 0;
	if (!r && class->graph.is_wanted) {
		const struct graph_options graph_options = graph_options_from(&view->options,
									      &class->graph);

		r = graph_new(&view->graph, &graph_options);
	}
	if (!r)
		*ret = steal_ptr(&view);
	return r;
}

void report_view_free(struct view *view)
{
	if (!view)
		return;
	if (view->class->deinit)
		view->class->deinit(view);
	graph_free(view->graph);
	stack_tree_free(view->tree);
	free(view);
}

int report_view_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	if (view->class->add)
		return view->class->add(view, input, stack);
	return view->graph ? graph_add(view->graph, input, stack) : 0;
}

int report_view_end(struct view *view, const struct view_input *input, FILE *out)
{
	bool again = false;
	int r = view->graph ? graph_end(view->graph, input, &again) : 0;

	if (r || again)
		return r ?: VIEW_E_AGAIN;
	return view->class->end(view, input, out);
}

void view_options_init(struct view_options *options)
{
	*options = (struct view_options){
		.pattern = "",
		.unit = "minimum",
		.divide_by = 1,
		.trim = true,
		.nodecount = VIEW_NODECOUNT_DEFAULT,
		.nodefraction = .005,
		.edgefraction = .001,
	};
}
