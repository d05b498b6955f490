/* SPDX-License-Identifier: MIT */
#include "client/analysis/flame_data.h"
#include "client/analysis/view.h"
#include "client/gateway/view/answer.h"
#include "common/memory_text.h"

struct part_flame {
	struct view view;
	struct flame_data data;
};

static int part_flame_add(struct view *view, const struct view_input *input,
			  const struct stack *stack)
{
	return flame_data_add(&((struct part_flame *)view)->data, input, stack);
}

static int part_flame_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct flame_data *data = &((struct part_flame *)view)->data;
	int r = memory_text_open(&text)
		?: flame_data_write(data, input, &view->options, text.out)
		?: memory_text_close(&text);

	if (!r)
		fprintf(out, "\"truncated\":%s,\"data\":%s", data->is_cut ? "true" : "false",
			text.text);
	return r;
}

static void part_flame_deinit(struct view *view)
{
	flame_data_deinit(&((struct part_flame *)view)->data);
}

const struct view_class view_part_flame = {
	.name = "flame",
	.tells_all_types = true,
	.size = sizeof(struct part_flame),
	.add = part_flame_add,
	.end = part_flame_end,
	.deinit = part_flame_deinit,
};
