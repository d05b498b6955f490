/* SPDX-License-Identifier: MIT */
/*
 * --flame: the stacks as one HTML page that draws them, and needs nothing else: no network, no
 * other file. What is in the page is the tree of stacks with the values of each node
 * (flame_data.h); how it looks is flame/.
 *
 * In a comparison, colours tell what changed. Values that are negative otherwise (--base) are told
 * as they are, but have no width.
 *
 * The page tells files, lines and modules of frames as far as frames tell them: the caller shapes
 * stacks with objects (shape_options.with_objects, and of two builds .compares). Of options matter
 * `unit` ("auto" and "minimum" let the page choose), `divide_by` and `filters`; means are not
 * drawn, since they do not add up.
 *
 * A profile of several sample types shows the one of view_input.type, and lets its reader go to the
 * others, unless options.one_type. Which boxes are kept, and are first, depends on the former.
 *
 * Limits: a million boxes; the lightest beyond them are told as one grey box below their caller,
 * with their sum. FLAME_TYPES_MAX sample types, and fewer of them where they would have too many
 * values.
 */
#include "client/analysis/flame.h"

#include "client/analysis/flame_data.h"
#include "client/analysis/view.h"

struct flame {
	struct view view;
	struct flame_data data;
};

static int flame_init(struct view *view)
{
	((struct flame *)view)->data.one_type = view->options.one_type;
	return VIEW_E_OK;
}

static int flame_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	return flame_data_add(&((struct flame *)view)->data, input, stack);
}

static int flame_end(struct view *view, const struct view_input *input, FILE *out)
{
	int r;

	fwrite(flame_page_head, 1, flame_page_head_length, out);
	r = flame_data_write(&((struct flame *)view)->data, input, &view->options, out);
	if (!r)
		fwrite(flame_page_tail, 1, flame_page_tail_length, out);
	return r;
}

static void flame_deinit(struct view *view)
{
	flame_data_deinit(&((struct flame *)view)->data);
}

const struct view_class view_flame = {
	.name = "flame",
	.tells_all_types = true,
	.size = sizeof(struct flame),
	.init = flame_init,
	.add = flame_add,
	.end = flame_end,
	.deinit = flame_deinit,
};
