/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_STACK_TREE_H
#define PROFD_CLIENT_ANALYSIS_STACK_TREE_H

/*
 * The calling-context tree: stacks folded from their roots, so that a way to a function is one node
 * however many samples went it. What flame graphs and speedscope's files are written
 * from.
 *
 * A node has values of its own: of the stacks that end there. How many, and of what, is the
 * caller's to say; the first two, in a tree of one value the first, are what a node weighs, the sum
 * of their magnitudes with those of all nodes below it. Most nodes are on the way to others and
 * have no values, and take no room for them.
 *
 * Nodes are numbered as they come: 0 is the root, which is no frame, and a parent's number is below
 * its children's; sums over subtrees are therefore one loop from the last node to the first.
 *
 * Memory is bounded: when there are more nodes than allowed, the lightest are cut off. Their values
 * stay below the parent they were cut from, in a child of its own whose frame is STACK_TREE_CUT, so
 * that sums are exact whatever was cut.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/node_name.h"
#include "common/cleanup.h"

#define STACK_TREE_CUT         UINT32_C(0x7fffffff)
#define STACK_TREE_NO_GROUP    UINT32_C(0x7ffffffe)
#define STACK_TREE_NODES_MAX   ((size_t)4 << 20) /* 12 bytes each, and values where they have any */
#define STACK_TREE_NODES_LEAST ((size_t)16)

struct stack;
struct stack_tree;
struct view_input;

struct stack_tree_node {
	uint32_t parent;
	uint32_t frame : 31;     /* or STACK_TREE_CUT; of a group: its number */
	uint32_t is_inlined : 1; /* in one of the stacks at least */
	uint32_t values;         /* whose they are, see stack_tree_value(); 0: all are 0 */
};

/* @max_nodes: STACK_TREE_NODES_LEAST at least. @n_values: 1 at least. Returns 0 or negative errno.
 */
int stack_tree_new(struct stack_tree **ret, size_t max_nodes, unsigned n_values);
void stack_tree_free(struct stack_tree *tree);
DEFINE_CLEANUP(struct stack_tree *, stack_tree_free)

/*
 * Adds @values, n_values of them, to where @stack ends; without frames that is the root. @group: a
 * number of the caller's that stands between the root and the stack as a frame would, such as a
 * thread's, or STACK_TREE_NO_GROUP. Sums beyond int64_t are clamped. Returns 0 or negative errno.
 */
int stack_tree_add(struct stack_tree *tree, uint32_t group, const struct stack *stack,
		   const int64_t *values);

/* Cuts off the lightest until at most @max_nodes are left. Their numbers change. */
int stack_tree_shrink(struct stack_tree *tree, size_t max_nodes);

/* All nodes. Valid until the next change. */
const struct stack_tree_node *stack_tree_nodes(const struct stack_tree *tree, size_t *ret_n);
/* The @i'th value of @node. */
int64_t stack_tree_value(const struct stack_tree *tree, const struct stack_tree_node *node,
			 unsigned i);

/*
 * The nodes as they are written: each before its children, one subtree after the other, the root
 * left out. Valid until the next change of the tree. Children are in order of what they weigh, the
 * heaviest first, and of @texts[frame] where that is equal (groups: of their numbers); what was cut
 * is last.
 */
struct stack_tree_order {
	struct stack_tree_step {
		const struct stack_tree_node *node;
		uint32_t depth; /* of children of the root: 0 */
	} * all;
	size_t n;
};

int stack_tree_order(const struct stack_tree *tree, const char *const *texts,
		     struct stack_tree_order *ret);
void stack_tree_order_deinit(struct stack_tree_order *order);

/*
 * The frames that a tree of stacks has, for formats that have a table of them: their names, the
 * order of the nodes, and numbers that are the format's to give. A name is what reports print
 * (node_name.h) but for file and line, which formats that have room for them tell by themselves.
 */
struct frame_names {
	struct node_names texts; /* of frames that the tree has */
	uint32_t *numbers;       /* per frame; PROFILE_NONE: not given yet */
	size_t n;
	struct stack_tree_order order;
};

/* @input as report_view_end() has it. To be deinitialized in any case. 0 or negative errno. */
int frame_names_init(struct frame_names *names, const struct view_input *input,
		     const struct stack_tree *tree);
void frame_names_deinit(struct frame_names *names);

#endif
