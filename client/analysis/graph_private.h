/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_GRAPH_PRIVATE_H
#define PROFD_CLIENT_ANALYSIS_GRAPH_PRIVATE_H

/* What the parts of graph.c share: graph_order.c orders and trims, graph.c folds. */
#include "client/analysis/graph.h"

/* What of a stack is wanted the next time. */
enum {
	GRAPH_PASS_ALL,  /* all nodes; calls if nothing can be trimmed */
	GRAPH_PASS_KEPT, /* calls of those that pass the fraction */
	GRAPH_PASS_TOP,  /* calls of those that are shown */
};

/* room_make() for what is numbered as nodes are; also -E2BIG. */
int graph_make_room(void *array, size_t *max, size_t n, size_t size);
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
