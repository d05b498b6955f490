/* SPDX-License-Identifier: MIT */
/*
 * Folding. A stack is gone through from its root. "Already counted in this stack" is a serial
 * number on nodes and calls, not a set that is emptied.
 *
 * As a graph, there is a node for each frame, which an array knows. As a tree, there is one for
 * each frame below another node, and calls are made at the end.
 */
#include "client/analysis/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph_tags.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

/* What of a stack is wanted the next time. */
enum {
	GRAPH_PASS_ALL,  /* all nodes; calls if nothing can be trimmed */
	GRAPH_PASS_KEPT, /* calls of those that pass the fraction */
	GRAPH_PASS_TOP,  /* calls of those that are shown */
};

int64_t graph_add_clamped(int64_t a, int64_t b)
{
	int64_t sum = clamped_add(a, b);

	return sum == INT64_MIN ? -INT64_MAX : sum;
}

void graph_sum_add(struct graph_sum *to, const struct graph_sum *what)
{
	to->value = graph_add_clamped(to->value, what->value);
	to->divisor = graph_add_clamped(to->divisor, what->divisor);
}

int64_t graph_mean(struct graph_sum sum)
{
	return sum.divisor ? sum.value / sum.divisor : sum.value;
}

int graph_new(struct graph **ret, const struct graph_options *options)
{
	cleanup(graph_freep) struct graph *g = calloc(1, sizeof(*g));
	bool trims = options->nodecount || options->nodefraction > 0;
	int r;

	if (!g)
		return error_origin(-ENOMEM);
	g->options = *options;
	g->counts_calls = options->wants_calls && !trims && !options->is_tree;
	r = options->is_picture ? graph_tags_new(&g->tags, options->unit) : 0;
	if (!r)
		*ret = steal_ptr(&g);
	return r;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	graph_tags_free(g->tags);
	node_names_deinit(&g->names);
	intern_deinit(&g->nodes_in);
	intern_deinit(&g->calls_in);
	free(g->order);
	free(g->nodes);
	free(g->calls);
	free(g->node_of);
	free(g->callers);
	free(g->callees);
	free(g->first_caller);
	free(g->first_callee);
	free(g);
}

static int graph_find_node(struct graph *g, uint32_t frame, uint32_t parent, uint32_t *ret)
{
	const struct graph_node new = {
		.frame = frame, .parent = parent, .is_kept = true, .calls_inline = true};

	return intern_add(&g->nodes_in, &g->nodes, &new, sizeof(new),
			  offsetof(struct graph_node, flat), ret);
}

/* Frames come as stacks do: there may be more of them than the last time. */
static int graph_reserve_frames(struct graph *g, size_t n_frames)
{
	size_t n = g->n_node_of;
	int r = room_make(&g->node_of, &g->n_node_of, n_frames, sizeof(*g->node_of));

	if (!r && g->n_node_of > n)
		memset(g->node_of + n, 0xff, (g->n_node_of - n) * sizeof(*g->node_of));
	return r;
}

static inline int graph_node_of_frame(struct graph *g, uint32_t frame, uint32_t *ret)
{
	int r = 0;

	if (g->node_of[frame] == GRAPH_NONE)
		r = graph_find_node(g, frame, GRAPH_NONE, &g->node_of[frame]);
	*ret = g->node_of[frame];
	return r;
}

/* Calls that were counted not long ago are found without the table, in a fifth of its time. */
static inline uint32_t *graph_recent_call(struct graph *g, uint32_t caller, uint32_t callee)
{
	return &g->recent_calls[(caller * 2654435761u ^ callee * 40503u) % GRAPH_RECENT_CALLS];
}

static int graph_find_call(struct graph *g, uint32_t caller, uint32_t callee,
			   struct graph_call **ret)
{
	const struct graph_call new = {.caller = caller, .callee = callee, .is_inlined = true};
	uint32_t *last = graph_recent_call(g, caller, callee);
	int r = 0;

	if (*last >= g->calls_in.n || g->calls[*last].caller != caller ||
	    g->calls[*last].callee != callee)
		r = intern_add(&g->calls_in, &g->calls, &new, sizeof(new),
			       offsetof(struct graph_call, weight), last);
	if (!r)
		*ret = &g->calls[*last];
	return r;
}

static inline int count_call(struct graph *g, uint32_t caller, uint32_t callee,
			     const struct graph_sum *worth, bool is_residual, bool is_inlined)
{
	struct graph_call *call;
	int r = graph_find_call(g, caller, callee, &call);

	if (r || call->seen == g->serial)
		return r;
	call->seen = g->serial;
	graph_sum_add(&call->weight, worth);
	call->is_residual |= is_residual;
	call->is_direct |= !is_residual;
	call->is_inlined &= is_inlined;
	return 0;
}

/* @worth: what the stack is. */
static int add_to_graph(struct graph *g, const struct stack *stack, const struct graph_sum *worth)
{
	bool counts_tags = g->tags && g->counts_calls, is_residual = false;
	uint32_t caller = GRAPH_NONE, id;
	int r = 0;

	for (uint32_t i = stack->n_frames; i-- > 0 && !r;) {
		bool is_inlined = stack->is_inlined[i];

		r = graph_node_of_frame(g, stack->frames[i], &id);
		if (r)
			return r;
		g->has_inlined |= is_inlined;
		if (!g->nodes[id].is_kept) {
			is_residual = true;
			continue;
		}
		if (g->nodes[id].seen != g->serial) {
			g->nodes[id].seen = g->serial;
			if (g->pass == GRAPH_PASS_ALL)
				graph_sum_add(&g->nodes[id].cum, worth);
			if (counts_tags)
				r = graph_tags_count(g->tags, id, worth, false);
		}
		/* What is inlined into itself does not call itself. */
		if (!r && g->counts_calls && caller != GRAPH_NONE &&
		    (caller != id || (g->options.is_picture && !is_residual && !is_inlined)))
			r = count_call(g, caller, id, worth, is_residual, is_inlined);
		is_residual = false;
		caller = id;
	}
	if (r || caller == GRAPH_NONE || is_residual)
		return r;
	if (g->pass == GRAPH_PASS_ALL)
		graph_sum_add(&g->nodes[caller].flat, worth);
	return counts_tags ? graph_tags_count(g->tags, caller, worth, true) : 0;
}

static int add_to_tree(struct graph *g, const struct stack *stack, const struct graph_sum *worth)
{
	uint32_t caller = GRAPH_NONE;
	int r = 0;

	for (uint32_t i = stack->n_frames; i-- > 0 && !r;) {
		r = graph_find_node(g, stack->frames[i], caller, &caller);
		if (r)
			return r;
		graph_sum_add(&g->nodes[caller].cum, worth);
		g->nodes[caller].calls_inline &= stack->is_inlined[i];
		if (g->tags)
			r = graph_tags_count(g->tags, caller, worth, false);
	}
	if (r || caller == GRAPH_NONE)
		return r;
	graph_sum_add(&g->nodes[caller].flat, worth);
	return g->tags ? graph_tags_count(g->tags, caller, worth, true) : 0;
}

int graph_add(struct graph *g, const struct view_input *input, const struct stack *stack)
{
	struct graph_sum worth = {.value = stack->values[input->type]};
	int r = graph_reserve_frames(g, input->n_frames);

	if (r)
		return r;
	if (input->mean)
		worth.divisor = stack->values[0];
	if (!worth.value && !worth.divisor)
		return 0;
	g->serial++;
	if (g->tags && (g->counts_calls || g->options.is_tree))
		r = graph_tags_begin(g->tags, input, stack);
	if (r)
		return r;
	return g->options.is_tree ? add_to_tree(g, stack, &worth) : add_to_graph(g, stack, &worth);
}

/* A tree's calls are its nodes: from each to the next one above that is still there. */
static int make_tree_calls(struct graph *g)
{
	/* By node, the next one above; parents come before what they call. */
	struct above {
		uint32_t node;   /* GRAPH_NONE: none is there */
		bool is_inlined; /* all the way to it */
	};
	cleanup(freep) struct above *above = calloc(g->nodes_in.n + 1, sizeof(*above));

	if (!above)
		return error_origin(-ENOMEM);
	intern_clear(&g->calls_in);
	g->n_dropped_calls = 0;
	for (uint32_t i = 0; i < g->nodes_in.n; i++) {
		const struct graph_node *node = &g->nodes[i];
		struct graph_call *call;
		int r;

		above[i] = (struct above){node->parent, node->calls_inline};
		if (node->parent != GRAPH_NONE && !g->nodes[node->parent].is_kept) {
			above[i].node = above[node->parent].node;
			above[i].is_inlined &= above[node->parent].is_inlined;
		}
		if (above[i].node == GRAPH_NONE || !node->is_kept)
			continue;
		r = graph_find_call(g, above[i].node, i, &call);
		if (r)
			return r;
		call->weight = node->cum;
		call->is_inlined = above[i].is_inlined;
		call->is_residual = above[i].node != node->parent;
	}
	return graph_connect(g);
}

/* Only what is listed is kept. */
static void keep_listed(struct graph *g)
{
	for (size_t i = 0; i < g->nodes_in.n; i++)
		g->nodes[i].is_kept = g->nodes[i].is_listed;
}

/* Keeps only the first @n (0: all) of order[]; false if none had to go. */
static bool graph_cut_order(struct graph *g, size_t n)
{
	if (!n || n >= g->n_order)
		return false;
	for (size_t i = n; i < g->n_order; i++)
		g->nodes[g->order[i]].is_listed = false;
	g->n_order = n;
	keep_listed(g);
	return true;
}

/* A picture counts up to four labels of a node as nodes: they are boxes, too. */
static size_t count_picture_nodes(const struct graph *g, size_t nodecount)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_order; i++) {
		size_t tags = graph_tags_n_flat(g->tags, g->order[i]);

		n += 1 + (tags < GRAPH_TAGS_SHOWN ? tags : GRAPH_TAGS_SHOWN);
		if (n >= nodecount)
			return i + 1;
	}
	return g->n_order;
}

static int graph_trim_and_connect(struct graph *g)
{
	if (g->tags)
		graph_tags_trim(g->tags, g->node_cutoff);
	g->n_dropped_calls += graph_trim_calls(g);
	return graph_connect(g);
}

/* Stacks are to be seen again, for the calls between what is kept. */
static void graph_begin_pass(struct graph *g, unsigned pass)
{
	g->pass = pass;
	g->counts_calls = true;
	g->n_dropped_calls = 0;
	intern_clear(&g->calls_in);
	if (g->tags)
		graph_tags_clear(g->tags);
}

/* All that is left to do once the calls between what is shown are there. */
static int graph_finish(struct graph *g)
{
	int r = graph_trim_and_connect(g);

	return !r && g->options.is_picture ? graph_drop_redundant(g) : r;
}

/* Calls are there: the nodes that make a good picture. *ret_cut: some are gone. */
static int graph_choose_picture_nodes(struct graph *g, bool *ret_cut)
{
	int r = graph_sort(g);

	*ret_cut = false;
	if (r || !g->options.nodecount)
		return r;
	r = graph_trim_and_connect(g);
	if (!r)
		*ret_cut = graph_cut_order(g, count_picture_nodes(g, g->options.nodecount));
	return r;
}

static int graph_end_tree(struct graph *g)
{
	bool is_cut;
	int r = make_tree_calls(g);

	if (r)
		return r;
	if (g->options.is_picture) {
		r = graph_choose_picture_nodes(g, &is_cut);
	} else {
		r = graph_sort(g);
		is_cut = graph_cut_order(g, g->options.nodecount);
	}
	if (r || !is_cut)
		return r ?: graph_finish(g);
	return make_tree_calls(g) ?: graph_sort(g) ?: graph_finish(g);
}

/* Nodes are there: those that pass the fraction, and, where calls do not matter, are first. */
static int graph_end_nodes(struct graph *g, bool *ret_again)
{
	int r = graph_list(g);

	if (r)
		return r;
	g->n_dropped = graph_drop_below(g);
	g->n_before = g->n_order;
	if (g->n_dropped)
		keep_listed(g);
	if (g->options.is_tree)
		return graph_end_tree(g);
	if (g->options.is_picture && !g->counts_calls) {
		graph_begin_pass(g, GRAPH_PASS_KEPT);
		*ret_again = true;
		return 0;
	}
	if (g->options.is_picture)
		return graph_connect(g) ?: graph_sort(g);
	r = graph_sort(g);
	if (r)
		return r;
	graph_cut_order(g, g->options.nodecount);
	if (!g->counts_calls && (g->options.wants_calls || g->has_inlined)) {
		graph_begin_pass(g, GRAPH_PASS_TOP);
		*ret_again = true;
	}
	return 0;
}

int graph_end(struct graph *g, const struct view_input *input, bool *ret_again)
{
	bool is_cut;
	int r;

	*ret_again = false;
	g->profile = input->profile;
	g->frames = input->frames;
	if (g->pass == GRAPH_PASS_ALL) {
		r = graph_end_nodes(g, ret_again);
		return r || *ret_again || g->options.is_tree ? r : graph_finish(g);
	}
	r = graph_connect(g);
	if (!r && g->pass == GRAPH_PASS_KEPT) {
		r = graph_choose_picture_nodes(g, &is_cut);
		if (!r && is_cut) {
			graph_begin_pass(g, GRAPH_PASS_TOP);
			*ret_again = true;
			return 0;
		}
	} else if (!r && g->options.is_picture) {
		r = graph_sort(g);
	}
	return r ?: graph_finish(g);
}

struct graph_options graph_options_from(const struct view_options *options,
					const struct graph_options *wanted)
{
	struct graph_options ret = *wanted;

	ret.unit = options->unit && *options->unit ? options->unit : "minimum";
	ret.by_cum = options->by_cum;
	ret.drop_negative = options->drop_negative;
	ret.is_tree &= options->call_tree;
	if (!options->trim || wanted->is_whole)
		return ret;
	if (options->nodecount != VIEW_NODECOUNT_DEFAULT)
		ret.nodecount = options->nodecount > 0 ? (size_t)options->nodecount : 0;
	else if (wanted->wants_calls)
		ret.nodecount = GRAPH_NODECOUNT;
	ret.nodefraction = options->nodefraction;
	ret.edgefraction = options->edgefraction;
	return ret;
}
