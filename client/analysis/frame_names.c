/* SPDX-License-Identifier: MIT */
#include "client/analysis/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/frames.h"
#include "client/analysis/node_name.h"
#include "client/analysis/stack_tree.h"
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

static int frame_names_compare(const void *a, const void *b, void *context)
{
	char *const *texts = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(texts[x], texts[y]);

	return order ? order : x < y ? -1 : x > y;
}

static int frame_names_rank(struct frame_names *names)
{
	cleanup(freep) uint32_t *sorted = calloc(names->n + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < names->n; i++)
		if (names->texts[i])
			sorted[n++] = i;
	qsort_r(sorted, n, sizeof(*sorted), frame_names_compare, names->texts);
	for (uint32_t i = 0; i < n; i++)
		names->ranks[sorted[i]] = i;
	return 0;
}

int frame_names_init(struct frame_names *ret, const struct view_input *input,
		     const struct stack_tree *tree)
{
	struct frame_names names = {.n = input->n_frames};
	const struct stack_tree_node *nodes;
	size_t n;
	int r = 0;

	nodes = stack_tree_nodes(tree, &n);
	names.texts = calloc(names.n + 1, sizeof(*names.texts));
	names.ranks = calloc(names.n + 1, sizeof(*names.ranks));
	if (!names.texts || !names.ranks)
		r = error_origin(-ENOMEM);
	for (size_t i = 1; i < n && !r; i++)
		r = frame_names_add(&names, input, nodes[i].frame);
	if (!r)
		r = frame_names_rank(&names);
	if (r)
		frame_names_deinit(&names);
	else
		*ret = names;
	return r;
}

void frame_names_deinit(struct frame_names *names)
{
	for (size_t i = 0; names->texts && i < names->n; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->ranks);
	*names = (struct frame_names){0};
}
