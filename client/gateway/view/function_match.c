/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/function_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "common/error.h"

enum { MATCH_UNKNOWN, MATCH_OTHER, MATCH_FUNCTION };

void function_match_deinit(struct function_match *m)
{
	free(m->frames);
}

static int function_match_make_room(struct function_match *m, size_t n)
{
	size_t max = n + n / 2 + 64;
	uint8_t *grown;

	if (n <= m->n)
		return 0;
	grown = realloc(m->frames, max);
	if (!grown)
		return error_origin(-ENOMEM);
	memset(grown + m->n, MATCH_UNKNOWN, max - m->n);
	m->frames = grown;
	m->n = max;
	return 0;
}

static int function_match_compare(struct function_match *m, const struct view_input *input,
				  uint32_t frame)
{
	const struct frame bare = node_name_bare(&input->frames[frame]);
	cleanup(freep) char *name = NULL;
	int r = node_name(input->profile, &bare, &name);

	if (r)
		return r;
	m->frames[frame] = strcmp(name, m->name) == 0 ? MATCH_FUNCTION : MATCH_OTHER;
	return 0;
}

int function_match_next(struct function_match *m, const struct view_input *input,
			const struct stack *stack, uint32_t *at, bool *ret)
{
	int r = function_match_make_room(m, input->n_frames);

	*ret = false;
	for (; *at < stack->n_frames && !r; ++*at) {
		uint32_t frame = stack->frames[*at];

		if (m->frames[frame] == MATCH_UNKNOWN)
			r = function_match_compare(m, input, frame);
		*ret = !r && m->frames[frame] == MATCH_FUNCTION;
		if (*ret)
			return 0;
	}
	return r;
}
