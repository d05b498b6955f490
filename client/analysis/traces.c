/* SPDX-License-Identifier: MIT */
/*
 * --traces: every stack with its labels, in the order in which they come. Nothing of them is kept:
 * the first time totals and units become known, the second time the stacks are written.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/analysis/graph.h"
#include "client/analysis/labels.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

static const char separator[] =
	"-----------+-------------------------------------------------------";

struct traces {
	struct view view;
	struct values values;
	FILE *out; /* NULL the first time; borrowed */
	struct node_names names;
};

static void traces_deinit(struct view *view)
{
	node_names_deinit(&((struct traces *)view)->names);
}

/* "key:  value value" */
static int traces_print_key(const void *context, const struct profile_label *const *labels,
			    size_t n, FILE *out)
{
	const struct view_input *input = context;
	const struct profile *p = input->profile;
	cleanup(freep) char *key = node_name_plain(profile_string(p, labels[0]->key));
	const char *unit = label_units_of(input->label_units, p, labels[0]->key);

	if (!key)
		return error_origin(-ENOMEM);
	fprintf(out, "%*s: ", utf8_field_width(key, 10), key);
	for (size_t i = 0; i < n; i++) {
		char number[MEASURE_TEXT_MAX];

		fputc(' ', out);
		if (labels[i]->str)
			utf8_write_harmless(out, profile_string(p, labels[i]->str), "");
		else
			fputs(measure_print(number, sizeof(number), labels[i]->num, unit, "auto"),
			      out);
	}
	return 0;
}

static int traces_put_labels(const struct traces *t, const struct view_input *input,
			     const struct stack *stack, bool are_texts)
{
	cleanup(texts_deinit) struct texts lines;
	int r = label_texts_init(&lines, stack->labels, stack->n_labels, are_texts,
				 traces_print_key, input);

	for (size_t i = 0; i < lines.n && !r; i++)
		fprintf(t->out, "%s\n", lines.all[i]);
	return r;
}

static int traces_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct traces *t = (struct traces *)view;
	const struct graph_sum worth = {graph_add_clamped(stack->values[input->type], 0),
					input->mean ? stack->values[0] : 0};
	char value[MEASURE_TEXT_MAX];
	int r;

	if (!t->out)
		return 0;
	fprintf(t->out, "%s\n", separator);
	r = traces_put_labels(t, input, stack, true) ?: traces_put_labels(t, input, stack, false);
	values_print(&t->values, value, graph_mean(worth));
	for (uint32_t i = 0; i < stack->n_frames && !r; i++) {
		uint32_t frame = stack->frames[i];

		r = node_names_make(&t->names, input->profile, &input->frames[frame], frame);
		if (!r)
			fprintf(t->out, "%*s   %s%s\n", i ? 10 : utf8_field_width(value, 10),
				i ? "" : value, t->names.all[frame],
				stack->is_inlined[i] ? " (inline)" : "");
	}
	return r;
}

static int traces_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct traces *t = (struct traces *)view;

	if (t->out) {
		fprintf(out, "%s\n", separator);
		return VIEW_E_OK;
	}
	t->out = out;
	values_init(&t->values, input, &view->options);
	return header_print_profile(out, input, &t->values) ?: VIEW_E_AGAIN;
}

const struct view_class view_traces = {
	.name = "traces",
	.size = sizeof(struct traces),
	.add = traces_add,
	.end = traces_end,
	.deinit = traces_deinit,
};
