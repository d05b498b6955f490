/* SPDX-License-Identifier: MIT */
/* What is done with nodes and calls once they are counted: names, orders, trimming. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"

int graph_list(struct graph *g)
{
	int64_t total = 0;

	g->order = calloc(g->nodes_in.n + 1, sizeof(*g->order));
	if (!g->order)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < g->nodes_in.n; i++) {
		struct graph_node *node = &g->nodes[i];
		/* What pprof sorts by when negative ones are not wanted. */
		int64_t worth = node->flat.value ? node->flat.value : node->cum.value;

		if (!worth || (g->options.drop_negative && worth < 0))
			continue;
		node->is_listed = true;
		g->order[g->n_order++] = i;
		total = graph_add_clamped(total, node->flat.value);
	}
	g->node_cutoff = llabs(values_clamp((double)total * g->options.nodefraction));
	g->call_cutoff = llabs(values_clamp((double)total * g->options.edgefraction));
	return 0;
}

size_t graph_drop_below(struct graph *g)
{
	size_t n = 0, n_before = g->n_order;

	for (size_t i = 0; i < n_before; i++) {
		struct graph_node *node = &g->nodes[g->order[i]];

		if (llabs(node->cum.value) < g->node_cutoff)
			node->is_listed = false;
		else
			g->order[n++] = g->order[i];
	}
	g->n_order = n;
	return n_before - n;
}

static int graph_make_name(struct graph *g, uint32_t node)
{
	return node_names_make(&g->names, g->profile, graph_frame(g, node), g->nodes[node].frame);
}

const char *graph_name(const struct graph *g, uint32_t node)
{
	return g->names.all[g->nodes[node].frame];
}

/*
 * Entropy: whether a node only hands on what comes in to a single callee, or is where ways part.
 * @own: what does not leave it.
 */
static double graph_calls_entropy(const struct graph *g, const uint32_t *calls, size_t n,
				  int64_t own)
{
	double total = (double)own, score = 0, share;
	size_t n_others = 0;

	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &g->calls[calls[i]];

		if (call->caller == call->callee)
			continue;
		n_others++;
		total += call->weight.value > 0 ? (double)call->weight.value : 0;
	}
	if (!n_others)
		return 1;
	if (total == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &g->calls[calls[i]];

		share = (double)llabs(call->weight.value) / total;
		if (call->caller != call->callee && share > 0)
			score -= share * log2(share);
	}
	if (own > 0) {
		share = (double)own / total;
		score -= share * log2(share);
	}
	return score;
}

/* What nodes of a picture are ordered by: their weight times how much happens in them. */
static int64_t picture_score(const struct graph *g, uint32_t node)
{
	const struct graph_node *n = &g->nodes[node];
	size_t n_callers, n_callees;
	const uint32_t *callers = graph_callers(g, node, &n_callers);
	const uint32_t *callees = graph_callees(g, node, &n_callees);
	double score = graph_calls_entropy(g, callers, n_callers, 0) +
		       graph_calls_entropy(g, callees, n_callees, n->flat.value);

	return graph_add_clamped(values_clamp(score * (double)n->cum.value), n->flat.value);
}

struct ordering {
	const struct graph *g;
	const int64_t *scores; /* by node */
};

static int compare_magnitudes(int64_t a, int64_t b)
{
	return order_of(llabs(b), llabs(a));
}

/* Nodes of one name and equal weights: by what else tells them apart. */
static int compare_frames(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct frame *x = graph_frame(g, a), *y = graph_frame(g, b);
	const struct profile *p = g->profile;

	return strcmp(profile_string(p, x->filename), profile_string(p, y->filename)) ?:
		order_of(x->start_line, y->start_line) ?:
		strcmp(profile_string(p, x->object), profile_string(p, y->object)) ?:
		order_of(a, b);
}

static int compare_nodes(const void *a, const void *b, void *userdata)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct ordering *o = userdata;
	const struct graph_node *nx = &o->g->nodes[x], *ny = &o->g->nodes[y];
	bool by_flat = !o->g->options.is_picture && !o->g->options.by_cum;

	return compare_magnitudes(o->scores[x], o->scores[y]) ?:
		strcmp(graph_name(o->g, x), graph_name(o->g, y)) ?:
		compare_magnitudes(by_flat ? nx->cum.value : nx->flat.value,
				   by_flat ? ny->cum.value : ny->flat.value) ?:
		compare_frames(o->g, x, y);
}

int graph_sort(struct graph *g)
{
	cleanup(freep) int64_t *scores = calloc(g->nodes_in.n + 1, sizeof(*scores));
	struct ordering ordering = {.g = g, .scores = scores};

	if (!scores)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < g->n_order; i++) {
		uint32_t node = g->order[i];
		int r = graph_make_name(g, node);

		if (r)
			return r;
		scores[node] = g->options.is_picture ? picture_score(g, node)
			       : g->options.by_cum   ? g->nodes[node].cum.value
						     : g->nodes[node].flat.value;
	}
	qsort_r(g->order, g->n_order, sizeof(*g->order), compare_nodes, &ordering);
	return 0;
}

size_t graph_trim_calls(struct graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->calls_in.n; i++) {
		struct graph_call *call = &g->calls[i];

		if (call->is_gone || !g->nodes[call->callee].is_listed ||
		    llabs(call->weight.value) >= g->call_cutoff)
			continue;
		call->is_gone = true;
		n++;
	}
	return n;
}

static int compare_calls(const void *a, const void *b, void *userdata)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct graph *g = userdata;
	const struct graph_call *cx = &g->calls[x], *cy = &g->calls[y];

	return compare_magnitudes(cx->weight.value, cy->weight.value) ?:
		strcmp(graph_name(g, cx->caller), graph_name(g, cy->caller)) ?:
		strcmp(graph_name(g, cx->callee), graph_name(g, cy->callee)) ?:
		order_of(x, y);
}

void graph_sort_calls(const struct graph *g, uint32_t *calls, size_t n)
{
	qsort_r(calls, n, sizeof(*calls), compare_calls, (void *)g);
}

/* Calls by node, in one array: those of node i from first[i] on. */
static int graph_make_call_lists(struct graph *g, bool of_callers, uint32_t **ret,
				 size_t **ret_first)
{
	size_t *first = calloc(g->nodes_in.n + 2, sizeof(*first));
	uint32_t *calls = calloc(g->calls_in.n + 1, sizeof(*calls));

	free(*ret_first);
	free(*ret);
	*ret_first = first;
	*ret = calls;
	if (!first || !calls)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < g->calls_in.n; i++)
		if (!g->calls[i].is_gone)
			first[(of_callers ? g->calls[i].callee : g->calls[i].caller) + 2]++;
	for (size_t i = 2; i < g->nodes_in.n + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < g->calls_in.n; i++)
		if (!g->calls[i].is_gone)
			calls[first[(of_callers ? g->calls[i].callee : g->calls[i].caller) + 1]++] =
				i;
	for (size_t i = 0; i < g->nodes_in.n; i++)
		graph_sort_calls(g, calls + first[i], first[i + 1] - first[i]);
	return 0;
}

int graph_connect(struct graph *g)
{
	int r = 0;

	for (size_t i = 0; i < g->calls_in.n && !r; i++)
		r = graph_make_name(g, g->calls[i].caller)
			    ?: graph_make_name(g, g->calls[i].callee);
	return r ?:
		graph_make_call_lists(g, true, &g->callers, &g->first_caller) ?:
		graph_make_call_lists(g, false, &g->callees, &g->first_callee);
}

const uint32_t *graph_callers(const struct graph *g, uint32_t node, size_t *ret_n)
{
	*ret_n = g->first_caller[node + 1] - g->first_caller[node];
	return g->callers + g->first_caller[node];
}

const uint32_t *graph_callees(const struct graph *g, uint32_t node, size_t *ret_n)
{
	*ret_n = g->first_callee[node + 1] - g->first_callee[node];
	return g->callees + g->first_callee[node];
}

/* What the search for other ways to a callee needs. */
struct graph_order_search {
	uint32_t *queue; /* nodes */
	uint32_t *seen;  /* by node: the search that it was seen in */
	uint32_t serial;
};

static bool graph_call_is_redundant(const struct graph *g, uint32_t index,
				    struct graph_order_search *s)
{
	const struct graph_call *call = &g->calls[index];
	size_t n = 0;

	s->serial++;
	s->seen[call->callee] = s->serial;
	s->queue[n++] = call->callee;
	for (size_t i = 0; i < n; i++) {
		size_t n_callers;
		const uint32_t *callers = graph_callers(g, s->queue[i], &n_callers);

		for (size_t j = 0; j < n_callers; j++) {
			uint32_t caller = g->calls[callers[j]].caller;

			if (callers[j] == index || g->calls[callers[j]].is_gone ||
			    s->seen[caller] == s->serial)
				continue;
			if (caller == call->caller)
				return true;
			s->seen[caller] = s->serial;
			s->queue[n++] = caller;
		}
	}
	return false;
}

int graph_drop_redundant(struct graph *g)
{
	cleanup(freep) uint32_t *queue = calloc(g->nodes_in.n + 1, sizeof(*queue));
	cleanup(freep) uint32_t *seen = calloc(g->nodes_in.n + 1, sizeof(*seen));
	struct graph_order_search s = {.queue = queue, .seen = seen};

	if (!queue || !seen)
		return error_origin(-ENOMEM);
	for (size_t i = g->n_order; i-- > 0;) {
		size_t n;
		const uint32_t *callers = graph_callers(g, g->order[i], &n);

		for (size_t j = n; j-- > 0;) {
			struct graph_call *call = &g->calls[callers[j]];

			if (call->caller == call->callee)
				continue;
			if (!call->is_residual)
				break;
			call->is_gone = !call->is_direct &&
					graph_call_is_redundant(g, callers[j], &s);
		}
	}
	return graph_connect(g);
}
