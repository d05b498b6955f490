/* SPDX-License-Identifier: MIT */
/*
 * Callers and callees of a function, as two flame graphs. Each stack is cut at the function's
 * outermost frame, so that it counts once on both sides, and a function that calls itself is below
 * itself. The tree of callers is read from the function up.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/analysis/flame_data.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/gateway/view/answer.h"
#include "client/gateway/view/function_match.h"
#include "common/error.h"
#include "common/memory_text.h"

struct part_sandwich {
	struct view view;
	struct function_match match;
	struct flame_data callers, callees;
	uint32_t *frames; /* of a stack, the other way round */
	uint8_t *is_inlined;
	size_t max;
};

static int part_sandwich_init(struct view *view)
{
	struct part_sandwich *s = (struct part_sandwich *)view;

	s->match.name = view->options.pattern;
	s->callers.one_type = s->callees.one_type = true;
	return VIEW_E_OK;
}

static int sandwich_make_room(struct part_sandwich *s, size_t n)
{
	uint32_t *frames;
	uint8_t *is_inlined;

	if (n <= s->max)
		return 0;
	frames = reallocarray(s->frames, 2 * n, sizeof(*frames));
	s->frames = frames ? frames : s->frames;
	is_inlined = reallocarray(s->is_inlined, 2 * n, sizeof(*is_inlined));
	s->is_inlined = is_inlined ? is_inlined : s->is_inlined;
	if (!frames || !is_inlined)
		return error_origin(-ENOMEM);
	s->max = 2 * n;
	return 0;
}

/* The frames from @at on, the root first. */
static int sandwich_add_callers(struct part_sandwich *s, const struct view_input *input,
				const struct stack *stack, uint32_t at)
{
	struct stack up = *stack;
	int r;

	up.n_frames = stack->n_frames - at;
	r = sandwich_make_room(s, up.n_frames);
	if (r)
		return r;
	for (uint32_t i = 0; i < up.n_frames; i++) {
		s->frames[i] = stack->frames[stack->n_frames - 1 - i];
		s->is_inlined[i] = stack->is_inlined[stack->n_frames - 1 - i];
	}
	up.frames = s->frames;
	up.is_inlined = s->is_inlined;
	return flame_data_add(&s->callers, input, &up);
}

static int part_sandwich_add(struct view *view, const struct view_input *input,
			     const struct stack *stack)
{
	struct part_sandwich *s = (struct part_sandwich *)view;
	uint32_t outermost = UINT32_MAX;
	struct stack down = *stack;
	bool any = true;
	int r = 0;

	for (uint32_t at = 0; any && !r; at++) {
		r = function_match_next(&s->match, input, stack, &at, &any);
		if (!r && any)
			outermost = at;
	}
	if (r || outermost == UINT32_MAX)
		return r;
	down.n_frames = outermost + 1;
	return flame_data_add(&s->callees, input, &down)
		       ?: sandwich_add_callers(s, input, stack, outermost);
}

static int part_sandwich_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct part_sandwich *s = (struct part_sandwich *)view;
	struct view_options options = view->options;
	int r = memory_text_open(&text);

	if (r)
		return r;
	options.max_bytes /= 2;
	fputs("\"callers\":", text.out);
	r = flame_data_write(&s->callers, input, &options, text.out);
	fputs(",\"callees\":", text.out);
	r = r ?: flame_data_write(&s->callees, input, &options, text.out);
	r = r ?: memory_text_close(&text);
	if (!r)
		fprintf(out, "\"truncated\":%s,%s",
			s->callers.is_cut || s->callees.is_cut ? "true" : "false", text.text);
	return r;
}

static void part_sandwich_deinit(struct view *view)
{
	struct part_sandwich *s = (struct part_sandwich *)view;

	function_match_deinit(&s->match);
	flame_data_deinit(&s->callers);
	flame_data_deinit(&s->callees);
	free(s->frames);
	free(s->is_inlined);
}

const struct view_class view_part_sandwich = {
	.name = "sandwich",
	.size = sizeof(struct part_sandwich),
	.init = part_sandwich_init,
	.add = part_sandwich_add,
	.end = part_sandwich_end,
	.deinit = part_sandwich_deinit,
};
