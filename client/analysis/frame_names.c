/* SPDX-License-Identifier: MIT */
#include "client/analysis/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/intern.h"
#include "client/analysis/node_name.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/error.h"

static int frame_names_add(struct frame_names *names, const struct view_input *input,
			   uint32_t frame)
{
	struct frame bare;

	if (frame >= names->n || names->texts[frame])
		return 0;
	bare = input->frames[frame];
	if (bare.name)
		bare.filename = 0;
	if (bare.name || bare.filename)
		bare.line = 0;
	return node_name(input->profile, &bare, &names->texts[frame]);
}

int frame_names_init(struct frame_names *names, const struct view_input *input,
		     const struct stack_tree *tree)
{
	cleanup(freep) uint32_t *ranks = NULL;
	size_t n;
	const struct stack_tree_node *nodes = stack_tree_nodes(tree, &n);
	int r = 0;

	*names = (struct frame_names){
		.texts = calloc(input->n_frames + 1, sizeof(*names->texts)),
		.numbers = calloc(input->n_frames + 1, sizeof(*names->numbers)),
		.n = input->n_frames,
	};
	if (!names->texts || !names->numbers)
		return error_origin(-ENOMEM);
	memset(names->numbers, 0xff, names->n * sizeof(*names->numbers));
	for (size_t i = 1; i < n && !r; i++)
		r = frame_names_add(names, input, nodes[i].frame);
	if (!r)
		r = stack_tree_rank_texts((const char *const *)names->texts, names->n, &ranks);
	return r ?: stack_tree_order(tree, ranks, false, &names->order);
}

void frame_names_deinit(struct frame_names *names)
{
	for (size_t i = 0; names->texts && i < names->n; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->numbers);
	stack_tree_order_deinit(&names->order);
}
