/* SPDX-License-Identifier: MIT */
/*
 * --traces: every stack with its labels, in the order in which they come. Nothing of them is kept:
 * the first time totals and units become known, the second time the stacks are written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/header.h"
#include "client/analysis/label_order.h"
#include "client/analysis/label_units.h"
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
	struct view_options options;
	struct values values;
	FILE *out;    /* NULL the first time; borrowed */
	char **names; /* by frame, made when first needed */
	size_t n_names;
};

static void traces_destroy(struct view *view)
{
	struct traces *t = (struct traces *)view;

	if (!t)
		return;
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i]);
	free(t->names);
	free(t);
}

static int traces_make(struct view **ret, const struct view_options *options,
		       struct profile_message *message)
{
	struct traces *t = calloc(1, sizeof(*t));

	(void)message;
	if (!t)
		return error_origin(-ENOMEM);
	t->view.class = &view_traces;
	t->options = *options;
	*ret = &t->view;
	return 0;
}

/* The @n labels of one key, "key:  value value"; *ret malloc'ed. */
static int traces_print_labels(const struct view_input *input,
			       const struct profile_label *const *labels, size_t n, char **ret)
{
	const struct profile *p = input->profile;
	cleanup(freep) char *key = node_name_plain(profile_string(p, labels[0]->key));
	const char *unit = label_units_of(input->label_units, p, labels[0]->key);
	size_t length;
	FILE *out = open_memstream(ret, &length);

	if (!key || !out) {
		if (out)
			fclose(out);
		return error_origin(-ENOMEM);
	}
	fprintf(out, "%*s:", utf8_field_width(key, 10), key);
	for (size_t i = 0; i < n; i++) {
		const struct profile_label *l = labels[i];
		const char *before = i ? " " : "  ";
		char number[MEASURE_TEXT_MAX];

		if (l->str) {
			cleanup(freep) char *text = node_name_plain(profile_string(p, l->str));

			fprintf(out, "%s%s", before, text ? text : "");
		} else {
			fprintf(out, "%s%s", before,
				measure_print(number, sizeof(number), l->num, unit, "auto"));
		}
	}
	return fclose(out) == 0 ? 0 : error_origin(-ENOMEM);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int traces_put_labels(const struct traces *t, const struct view_input *input,
			     const struct stack *stack, bool are_texts)
{
	cleanup(freep) const struct profile_label **labels = NULL;
	cleanup(freep) char **lines = calloc(stack->n_labels + 1, sizeof(*lines));
	size_t n_labels, n = 0;
	int r = lines ? label_order(stack->labels, stack->n_labels, are_texts, &labels, &n_labels)
		      : error_origin(-ENOMEM);

	for (size_t i = 0, same; !r && i < n_labels; i += same) {
		same = label_order_same(labels + i, n_labels - i);
		r = traces_print_labels(input, labels + i, same, &lines[n++]);
	}
	if (!r)
		qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++) {
		if (!r)
			fprintf(t->out, "%s\n", lines[i]);
		free(lines[i]);
	}
	return r;
}

/* Has the name of a frame in names[], where it is made once. */
static int traces_make_name(struct traces *t, const struct view_input *input, uint32_t frame)
{
	if (frame >= t->n_names) {
		char **grown = reallocarray(t->names, input->n_frames, sizeof(*grown));

		if (!grown)
			return error_origin(-ENOMEM);
		memset(grown + t->n_names, 0, (input->n_frames - t->n_names) * sizeof(*grown));
		t->names = grown;
		t->n_names = input->n_frames;
	}
	return t->names[frame] ? 0
			       : node_name(input->profile, &input->frames[frame], &t->names[frame]);
}

static int traces_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct traces *t = (struct traces *)view;
	int64_t divisor = input->mean ? stack->values[0] : 0;
	char value[MEASURE_TEXT_MAX];
	int r;

	if (!t->out)
		return 0;
	fprintf(t->out, "%s\n", separator);
	r = traces_put_labels(t, input, stack, true);
	if (!r)
		r = traces_put_labels(t, input, stack, false);
	values_print(&t->values, value,
		     graph_mean(graph_add_clamped(stack->values[input->type], 0), divisor));
	for (uint32_t i = 0; i < stack->n_frames && !r; i++) {
		r = traces_make_name(t, input, stack->frames[i]);
		if (!r)
			fprintf(t->out, "%*s   %s%s\n", i ? 10 : utf8_field_width(value, 10),
				i ? "" : value, t->names[stack->frames[i]],
				stack->is_inlined[i] ? " (inline)" : "");
	}
	return r;
}

static int traces_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		      struct profile_message *message)
{
	struct traces *t = (struct traces *)view;

	(void)message;
	*ret_again = !t->out;
	if (t->out) {
		fprintf(out, "%s\n", separator);
		return 0;
	}
	t->out = out;
	values_init(&t->values, input, &t->options);
	return header_print_profile(out, input, &t->values);
}

const struct view_class view_traces = {
	.name = "traces",
	.make = traces_make,
	.add = traces_add,
	.end = traces_end,
	.destroy = traces_destroy,
};
