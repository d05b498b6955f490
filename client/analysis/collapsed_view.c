/* SPDX-License-Identifier: MIT */
/*
 * --collapsed: a line for each distinct stack of names, as flame graph programs take them and
 * client/formats/text_formats.h writes whole profiles: `main;work;memcpy 42`, the value in the unit
 * of its type, whatever the unit option says. Stacks have been shaped, and names are those of
 * reports (node_name.h), where what has no name is `[module]`. Lines are in the order of their
 * names, each stack before those that go on from it; those whose values cancel out are left out.
 *
 * Frames of the same name are one: the tree is one of names, interned, instead of frames.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

struct collapsed_view {
	struct view view;
	struct profile *texts; /* names */
	uint32_t *text_of;     /* per frame; 0: not yet */
	size_t n_frames;
	uint32_t *stack; /* texts of a stack's frames */
	size_t stack_allocated;
};

static void collapsed_deinit(struct view *view)
{
	struct collapsed_view *c = (struct collapsed_view *)view;

	profile_free(c->texts);
	free(c->text_of);
	free(c->stack);
}

static int collapsed_init(struct view *view)
{
	int r = stack_tree_new(&view->tree, STACK_TREE_NODES_MAX, 1);

	return r ?: profile_new(&((struct collapsed_view *)view)->texts);
}

/* --- names ------------------------------------------------------------------------------------ */

static int collapsed_intern_name(struct collapsed_view *c, const struct view_input *input,
				 uint32_t frame)
{
	cleanup(freep) char *name = NULL;
	int r = node_name(input->profile, &input->frames[frame], &name);

	if (r)
		return r;
	for (char *s = name; *s; s++)
		if (*s == ';')
			*s = ':';
	return profile_add_text(c->texts, name, &c->text_of[frame]);
}

static int collapsed_add(struct view *view, const struct view_input *input,
			 const struct stack *stack)
{
	struct collapsed_view *c = (struct collapsed_view *)view;
	struct stack named = *stack;
	size_t n = c->n_frames;
	int r = room_make(&c->text_of, &c->n_frames, input->n_frames, sizeof(*c->text_of));

	if (!r && c->n_frames > n)
		memset(c->text_of + n, 0, (c->n_frames - n) * sizeof(*c->text_of));
	if (!r)
		r = room_make(&c->stack, &c->stack_allocated, stack->n_frames, sizeof(*c->stack));
	for (uint32_t i = 0; i < stack->n_frames && !r; i++) {
		uint32_t frame = stack->frames[i];

		if (!c->text_of[frame])
			r = collapsed_intern_name(c, input, frame);
		c->stack[i] = c->text_of[frame];
	}
	if (r)
		return r;
	named.frames = c->stack;
	return stack_tree_add(c->view.tree, STACK_TREE_NO_GROUP, &named,
			      &stack->values[input->type]);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_lines(const struct collapsed_view *c, const struct stack_tree_order *order,
		       FILE *out)
{
	uint32_t deepest = 0;
	cleanup(freep) const char **path = NULL;

	for (size_t i = 0; i < order->n; i++)
		if (order->all[i].depth > deepest)
			deepest = order->all[i].depth;
	path = calloc((size_t)deepest + 1, sizeof(*path));
	if (!path)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < order->n; i++) {
		const struct stack_tree_node *node = order->all[i].node;
		int64_t value = stack_tree_value(c->view.tree, node, 0);
		uint32_t depth = order->all[i].depth;

		path[depth] = node->frame == STACK_TREE_CUT ? "(too light to be kept)"
							    : profile_string(c->texts, node->frame);
		if (!value)
			continue;
		for (uint32_t d = 0; d <= depth; d++)
			fprintf(out, "%s%s", d ? ";" : "", path[d]);
		fprintf(out, " %" PRId64 "\n", value);
	}
	return 0;
}

static int collapsed_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct collapsed_view *c = (struct collapsed_view *)view;
	cleanup(stack_tree_order_deinit) struct stack_tree_order order = {0};
	size_t n = profile_n_strings(c->texts);
	cleanup(freep) const char **texts = calloc(n, sizeof(*texts));

	(void)input;
	if (!texts)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		texts[i] = profile_string(c->texts, i);
	return stack_tree_order(view->tree, texts, true, &order) ?: write_lines(c, &order, out);
}

const struct view_class view_collapsed = {
	.name = "collapsed",
	.size = sizeof(struct collapsed_view),
	.init = collapsed_init,
	.add = collapsed_add,
	.end = collapsed_end,
	.deinit = collapsed_deinit,
};
