/* SPDX-License-Identifier: MIT */
#include "client/analysis/values.h"

#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/view.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

void values_init(struct values *v, const struct view_input *input,
		 const struct view_options *options)
{
	double factor = options->divide_by != 0 ? 1 / options->divide_by : 1;

	*v = (struct values){
		.unit = profile_string(input->profile,
				       input->profile->sample_types[input->type].unit),
		.to = options->unit && *options->unit ? options->unit : "minimum",
		.factor = factor > 0 ? factor : 1, /* pprof takes no notice of others */
	};
}

int64_t values_clamp(double x)
{
	if (x >= (double)INT64_MAX)
		return INT64_MAX;
	return x > (double)-INT64_MAX ? (int64_t)x : -INT64_MAX;
}

int64_t values_divide(const struct values *v, int64_t value)
{
	return v->factor == 1 ? value : values_clamp((double)value * v->factor);
}

void values_init_for(struct values *v, const struct view *view, const struct view_input *input,
		     bool whole)
{
	const struct graph *g = view->graph;
	int64_t smallest = 0, largest;

	values_init(v, input, &view->options);
	if (strcmp(v->to, "minimum") != 0 || !g->n_order)
		return;
	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		int64_t least = llabs(graph_mean(node->flat));

		if (!least)
			least = llabs(graph_mean(node->cum));
		if (least && (!smallest || least < smallest))
			smallest = least;
	}
	if (!smallest)
		smallest = input->total;
	smallest = values_divide(v, smallest);
	largest = whole ? smallest : values_divide(v, input->total);
	v->to = measure_choose_unit(smallest, largest, v->unit);
}

const char *values_print(const struct values *v, char *buffer, int64_t value)
{
	return measure_print(buffer, MEASURE_TEXT_MAX, values_divide(v, value), v->unit, v->to);
}

const char *values_print_share(char *buffer, int64_t value, int64_t total)
{
	char text[MEASURE_TEXT_MAX];

	measure_print_percentage(text, sizeof(text), value, total);
	snprintf(buffer, MEASURE_TEXT_MAX, "%s", text + strspn(text, " "));
	return buffer;
}

void values_column(const struct values *v, struct values_column *ret, int64_t value, int64_t total)
{
	values_print(v, ret->value, value);
	measure_print_percentage(ret->share, sizeof(ret->share), value, total);
}

void values_print_node(FILE *out, const struct values *v, const struct graph_node *node,
		       int64_t *sum, int64_t total)
{
	int64_t flat = graph_mean(node->flat);
	struct values_column f, s, c;

	*sum = graph_add_clamped(*sum, flat);
	values_column(v, &f, flat, total);
	values_column(v, &s, *sum, total);
	values_column(v, &c, graph_mean(node->cum), total);
	fprintf(out, "%*s %s %s %*s %s", utf8_field_width(f.value, 10), f.value, f.share, s.share,
		utf8_field_width(c.value, 10), c.value, c.share);
}

const char *values_type(const struct view_input *input, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s%s", input->mean ? "mean_" : "",
		 profile_string(input->profile, input->profile->sample_types[input->type].type));
	return buffer;
}
