/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_GRAPH_TAGS_H
#define PROFD_CLIENT_ANALYSIS_GRAPH_TAGS_H

/*
 * What of each node's weight has which labels: in pictures, small boxes below the node. The text
 * labels of a stack are one tag together. Of number labels only `bytes` is told, as a tag of its
 * own below that one, in the key's unit (labels.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/graph.h"
#include "common/cleanup.h"

#define GRAPH_TAGS_SHOWN 4u /* of a node */
#define GRAPH_TAG_NONE   UINT32_MAX

/* What a tag says; a number each. */
struct graph_tag_kind {
	uint32_t below;   /* of a number: the kind of the text labels, or GRAPH_TAG_NONE */
	uint32_t text;    /* private: the name's number */
	const char *name; /* "key:value", a line each, or a number with its unit; the tags' */
	const char *unit; /* of a number; else NULL */
	int64_t number;
};

/* A tag of one node. */
struct graph_tag {
	uint32_t node, kind;
	struct graph_tag_kind is;
	struct graph_sum flat, cum;
};

/* @unit: what numbers are printed in, see measure.h; borrowed. 0 or negative errno. */
int graph_tags_new(struct graph_tags **ret, const char *unit);
void graph_tags_free(struct graph_tags *t);
DEFINE_CLEANUP(struct graph_tags *, graph_tags_free)

/* Forgets what was counted: the stacks come again. */
void graph_tags_clear(struct graph_tags *t);
/* What is counted from now on has the labels of @stack. 0 or negative errno. */
int graph_tags_begin(struct graph_tags *t, const struct view_input *input,
		     const struct stack *stack);
/* Once for a node's cum, once more for its flat weight. 0 or negative errno. */
int graph_tags_count(struct graph_tags *t, uint32_t node, const struct graph_sum *worth,
		     bool is_flat);
/*
 * Takes away what weighs less than @cutoff, both flat and cum. Nothing is counted after that,
 * before graph_tags_clear(); what follows here is about tags that were trimmed.
 */
void graph_tags_trim(struct graph_tags *t, int64_t cutoff);
/* How many of the node's tags have a flat weight. */
size_t graph_tags_n_flat(const struct graph_tags *t, uint32_t node);
/*
 * The node's tags, in no order, which the caller may change: those of texts (@of_numbers false,
 * @below GRAPH_TAG_NONE), or of numbers below the kind @below. NULL where *ret_n is 0.
 */
struct graph_tag *graph_tags_of(const struct graph_tags *t, uint32_t node, bool of_numbers,
				uint32_t below, size_t *ret_n);

#endif
