/* SPDX-License-Identifier: MIT */
/* --depths: how many stacks there are of each number of frames. */
#include "client/analysis/shape.h"
#include "client/analysis/view.h"

#define DEPTH_MAX 100

struct depths {
	struct view view;
	uint64_t counts[DEPTH_MAX + 1];
};

static int depths_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct depths *d = (struct depths *)view;

	(void)input;
	d->counts[stack->n_frames < DEPTH_MAX ? stack->n_frames : DEPTH_MAX]++;
	return 0;
}

static int depths_end(struct view *view, const struct view_input *input, FILE *out)
{
	const struct depths *d = (const struct depths *)view;

	(void)input;
	for (unsigned i = 0; i <= DEPTH_MAX; i++)
		if (d->counts[i])
			fprintf(out, "depth %u: %llu\n", i, (unsigned long long)d->counts[i]);
	return VIEW_E_OK;
}

const struct view_class view_depths = {
	.name = "depths",
	.size = sizeof(struct depths),
	.add = depths_add,
	.end = depths_end,
};
