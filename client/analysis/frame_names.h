/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FRAME_NAMES_H
#define PROFD_CLIENT_ANALYSIS_FRAME_NAMES_H

/*
 * The names of the frames that a tree of stacks has, and their order. A name is what reports print
 * (node_name.h) but for file and line, which formats that have room for them tell by themselves.
 */
#include <stddef.h>
#include <stdint.h>

struct stack_tree;
struct view_input;

struct frame_names {
	char **texts;    /* per frame of the input; NULL: the tree does not have it */
	uint32_t *ranks; /* by text; equal texts have different ones */
	size_t n;
};

/* @input as report_view_end() has it. 0 or negative errno; then nothing is to be freed. */
int frame_names_init(struct frame_names *names, const struct view_input *input,
		     const struct stack_tree *tree);
void frame_names_deinit(struct frame_names *names);

#endif
