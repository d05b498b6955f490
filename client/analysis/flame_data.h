/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_DATA_H
#define PROFD_CLIENT_ANALYSIS_FLAME_DATA_H

/* The tree of a flame graph, and the JSON that draws it (flame/data.js). */
#include <stdbool.h>
#include <stdio.h>

struct stack;
struct stack_tree;
struct view_input;
struct view_options;

#define FLAME_TYPES_MAX 8

/* All zero is none yet. */
struct flame_data {
	struct stack_tree *tree;         /* of each type the value and that of its base */
	unsigned types[FLAME_TYPES_MAX]; /* of the profile's; the chosen one first */
	unsigned n_types;
	bool one_type; /* the chosen one alone: set before the first stack */
	bool has_base;
	bool has_part; /* the second type is the waiting part of the first */
	bool is_cut;   /* once written: the lightest nodes were left out */
};

void flame_data_deinit(struct flame_data *f);
/* 0 or negative errno. */
int flame_data_add(struct flame_data *f, const struct view_input *input, const struct stack *stack);
/*
 * All stacks were added. Of options matter `unit`, `divide_by`, `filters` and `max_bytes`, beyond
 * which the lightest nodes are left out. VIEW_E_OK, VIEW_E_TOO_LONG or negative errno.
 */
int flame_data_write(struct flame_data *f, const struct view_input *input,
		     const struct view_options *options, FILE *out);

#endif
