/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_GRAPH_H
#define PROFD_CLIENT_ANALYSIS_GRAPH_H

/*
 * The call graph of a report: what each function weighs by itself (flat) and with all that it calls
 * (cum), and what each of its calls weighs, folded from stacks one at a time. A function that is
 * several times in one stack counts once, and so does a call. A function is here whatever the
 * granularity tells apart: a line, a file, an address.
 *
 * Trimming is pprof's (its documentation, doc/README.md, "Options"): functions below a fraction of
 * the total go first, then all but the first ones; a call over functions that are gone is residual.
 * Such calls are known only to who sees the stacks again, so graph_end() may ask for them.
 *
 * With call_tree, a function is there once for each way to it: memory grows with distinct stacks.
 * Trimming then takes the stacks only once, since each one has its nodes for itself.
 *
 * Sums that pass int64_t's range are clamped to it, and INT64_MIN never comes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/frame.h"
#include "client/analysis/node_name.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/profile/intern.h"

#define GRAPH_NONE      UINT32_MAX
#define GRAPH_NODECOUNT 80 /* of graphs, unless the user says otherwise */

struct graph_tags;
struct stack;
struct view_input;

/* Of the values, and of the stacks' first values, if means are wanted; else 0. */
struct graph_sum {
	int64_t value, divisor;
};

struct graph_node {
	uint32_t frame;  /* what it is: the number of that of stacks */
	uint32_t parent; /* is_tree: the node that calls it, or GRAPH_NONE */
	struct graph_sum flat, cum;
	uint64_t seen;     /* private: the last stack that it was in */
	bool is_kept;      /* private */
	bool is_listed;    /* in order[] */
	bool calls_inline; /* is_tree: inlined into its parent wherever it was seen */
};

#define GRAPH_RECENT_CALLS (1u << 14)

struct graph_call {
	uint32_t caller, callee; /* nodes */
	struct graph_sum weight;
	uint64_t seen;    /* private */
	bool is_residual; /* functions in between were left out, in some stack */
	bool is_direct;   /* none was, in some stack */
	bool is_inlined;  /* into the caller, wherever it was seen */
	bool is_gone;     /* trimmed, or private */
};

struct graph {
	/* Once graph_end() is done: the nodes that are left, first one first. */
	uint32_t *order;
	size_t n_order;
	size_t n_before; /* that passed the fraction */
	size_t n_dropped, n_dropped_calls;
	struct graph_node *nodes; /* by frame and parent */
	struct graph_call *calls; /* by caller and callee */
	struct intern nodes_in, calls_in;
	uint32_t recent_calls[GRAPH_RECENT_CALLS]; /* of calls; private */
	struct graph_tags *tags;                   /* is_picture; see graph_tags.h */

	/* Private. */
	struct graph_options options;
	unsigned pass;
	uint64_t serial; /* stacks seen */
	bool has_inlined, counts_calls;
	int64_t node_cutoff, call_cutoff;
	const struct profile *profile; /* during graph_end() and what reads its result */
	const struct frame *frames;    /* the same */
	uint32_t *node_of;             /* by frame, unless it is a tree */
	size_t n_node_of;
	struct node_names names;     /* by frame */
	uint32_t *callers, *callees; /* calls by node, heaviest first */
	size_t *first_caller, *first_callee;
};

/* 0 or negative errno. */
int graph_new(struct graph **ret, const struct graph_options *options);
void graph_free(struct graph *g);
DEFINE_CLEANUP(struct graph *, graph_free)

/* Folds one stack; 0 or negative errno. */
int graph_add(struct graph *g, const struct view_input *input, const struct stack *stack);
/* *ret_again: all stacks are needed once more; else the graph is there. 0 or negative errno. */
int graph_end(struct graph *g, const struct view_input *input, bool *ret_again);

/* The calls of a node, as indices of calls, heaviest first; without those that are gone. */
const uint32_t *graph_callers(const struct graph *g, uint32_t node, size_t *ret_n);
const uint32_t *graph_callees(const struct graph *g, uint32_t node, size_t *ret_n);
/* Sorts @n indices of calls, heaviest first; equal ones by the names of caller and callee. */
void graph_sort_calls(const struct graph *g, uint32_t *calls, size_t n);
/* The node's name as reports print it. The graph's. */
const char *graph_name(const struct graph *g, uint32_t node);
/* What the node is; once graph_end() is done. */
static inline const struct frame *graph_frame(const struct graph *g, uint32_t node)
{
	return &g->frames[g->nodes[node].frame];
}
/* What of the options is the graph's business. */
struct graph_options graph_options_from(const struct view_options *options,
					const struct graph_options *wanted);
/* a + b, clamped to -INT64_MAX .. INT64_MAX. */
int64_t graph_add_clamped(int64_t a, int64_t b);
void graph_sum_add(struct graph_sum *to, const struct graph_sum *what);
/* The value, or if there is a divisor the mean. */
int64_t graph_mean(struct graph_sum sum);

/* --- graph_order.c, for graph.c --------------------------------------------------------------- */

/* Fills order[] with the nodes that count for anything, and the cutoffs. 0 or negative errno. */
int graph_list(struct graph *g);
/* Takes from order[] what is below the nodes' cutoff, and returns how many. */
size_t graph_drop_below(struct graph *g);
/* Sorts order[] as the options want it; for a picture, calls are connected. 0 or negative errno. */
int graph_sort(struct graph *g);
/* Marks calls to listed nodes below the calls' cutoff as gone, and returns how many. */
size_t graph_trim_calls(struct graph *g);
/* Makes the lists of callers and callees, without calls that are gone. 0 or negative errno. */
int graph_connect(struct graph *g);
/*
 * Takes residual calls away whose callee is reached on another way, too; the lightest first, and
 * none that is heavier than a call of the callee that is not residual. What some stack has as a
 * call (pprof takes that away as well) stays. 0 or negative errno.
 */
int graph_drop_redundant(struct graph *g);

#endif
