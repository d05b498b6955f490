/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FRAME_NAMES_H
#define PROFD_CLIENT_ANALYSIS_FRAME_NAMES_H

/*
 * The frames that a tree of stacks has, for formats that have a table of them: their names, the
 * order of the nodes, and numbers that are the format's to give. A name is what reports print
 * (node_name.h) but for file and line, which formats that have room for them tell by themselves.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/stack_tree.h"

struct view_input;

struct frame_names {
	char **texts;      /* per frame of the input; NULL: the tree does not have it */
	uint32_t *numbers; /* per frame; PROFILE_NONE: not given yet */
	size_t n;
	struct stack_tree_order order;
};

/* @input as report_view_end() has it. To be deinitialized in any case. 0 or negative errno. */
int frame_names_init(struct frame_names *names, const struct view_input *input,
		     const struct stack_tree *tree);
void frame_names_deinit(struct frame_names *names);

#endif
