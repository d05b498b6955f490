/* SPDX-License-Identifier: MIT */
/*
 * --topproto: the table of --text as a profile. Each row is a sample of one frame, whose values are
 * cum and flat in the unit of the table, cut to whole numbers, as pprof has them.
 */
#include <stdlib.h>

#include "client/analysis/frame.h"
#include "client/analysis/graph.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define GZIP_LEVEL 6

struct top_proto {
	struct profile *p;          /* that is made */
	const struct profile *from; /* whose frames are shown */
	struct values values;
};

static int top_proto_string(const struct top_proto *t, uint32_t string, uint32_t *ret)
{
	return profile_add_text(t->p, profile_string(t->from, string), ret);
}

static int64_t top_proto_value(const struct top_proto *t, int64_t value)
{
	const char *unit;

	return values_clamp(measure_scale(values_divide(&t->values, value), t->values.unit,
					  t->values.to, &unit));
}

static int top_proto_add_node(const struct top_proto *t, const struct graph_node *node,
			      const struct frame *frame)
{
	const int64_t values[] = {top_proto_value(t, graph_mean(node->cum)),
				  top_proto_value(t, graph_mean(node->flat))};
	struct profile_function function = {.start_line = frame->start_line};
	struct profile_line line = {.line = frame->line, .column = frame->column};
	uint32_t location;
	int r = top_proto_string(t, frame->name, &function.name)
			?: top_proto_string(t, frame->filename, &function.filename);

	function.system_name = function.name;
	return r ?:
	       profile_add_function(t->p, &function, &line.function) ?:
	       profile_add_location(t->p, PROFILE_NONE, frame->address, &line, 1, &location) ?:
	       profile_append_sample(t->p, &location, 1, values, NULL, 0);
}

static int top_proto_fill(const struct top_proto *t, const struct graph *g)
{
	struct profile *p = t->p;
	int r = profile_add_sample_type(p, "cum", t->values.to) ?:
		profile_add_sample_type(p, "flat", t->values.to) ?:
		top_proto_string(t, t->from->period_type.type, &p->period_type.type) ?:
		top_proto_string(t, t->from->period_type.unit, &p->period_type.unit);

	p->time_ns = t->from->time_ns;
	p->duration_ns = t->from->duration_ns;
	p->period = t->from->period;
	for (size_t i = 0; i < g->n_order && !r; i++)
		r = top_proto_add_node(t, &g->nodes[g->order[i]], graph_frame(g, g->order[i]));
	return r;
}

static int top_proto_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct top_proto t = {.from = input->profile};
	size_t length;
	int r = profile_new(&p);

	values_init_for(&t.values, view, input, false);
	t.p = p;
	r = r ?: top_proto_fill(&t, view->graph) ?: pprof_write(p, GZIP_LEVEL, &data, &length);
	if (!r)
		fwrite(data, 1, length, out);
	return r;
}

const struct view_class view_top_proto = {
	.name = "topproto",
	.graph = {.is_wanted = true},
	.end = top_proto_end,
};
