/* SPDX-License-Identifier: MIT */
/*
 * --callgrind: the call graph in callgrind's format (valgrind's manual, "Callgrind Format
 * Specification"), as KCachegrind and callgrind_annotate read it: addresses and lines, each with
 * what it weighs and what its calls weigh. Names are written once and then called by their number.
 * How often something was called nobody counted. It is said to be once, and not 0 times as pprof
 * says, of which callgrind_annotate makes no calls, and of what they weigh the caller's own weight.
 *
 * Callgrind tells functions apart by object, file and name: what else differs is one function to
 * it, also the ways to a function that call_tree tells apart elsewhere.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "client/analysis/graph.h"
#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/text_print.h"
#include "common/utf8.h"

struct callgrind_writer {
	FILE *out;
	const struct graph *g;
	const struct profile *p;
	struct values values;
	/* Texts that were written, by the number that they have: a profile's strings. */
	struct profile *objects, *files, *functions;
};

/* "(1) name" the first time that it is written, then "(1)". */
static int callgrind_put_text(const struct callgrind_writer *w, struct profile *written,
			      const char *text)
{
	cleanup(freep) char *plain = node_name_plain(text);
	size_t n_before = profile_n_strings(written);
	uint32_t number;
	int r;

	if (!plain)
		return error_origin(-ENOMEM);
	r = profile_add_text(written, plain, &number);
	if (r || !number)
		return r;
	fprintf(w->out, "(%" PRIu32 ")", number);
	if (profile_n_strings(written) > n_before)
		fprintf(w->out, " %s", plain);
	return 0;
}

static int callgrind_put_function(const struct callgrind_writer *w, uint32_t node)
{
	const struct frame *info = graph_frame(w->g, node);
	const char *object = node_name_base(profile_string(w->p, info->object));
	cleanup(freep) char *text = NULL;
	int r;

	if (info->name)
		return callgrind_put_text(w, w->functions, profile_string(w->p, info->name));
	r = *object ? text_print(&text, "[%s]", object) : text_copy(&text, "<unknown>");
	return r ?: callgrind_put_text(w, w->functions, text);
}

/* What a line is about; @prefix: "", or "c" for who is called. */
static int callgrind_put_place(const struct callgrind_writer *w, uint32_t node, const char *prefix)
{
	const struct frame *info = graph_frame(w->g, node);
	int r;

	fprintf(w->out, "%sob=", prefix);
	r = callgrind_put_text(w, w->objects, profile_string(w->p, info->object));
	if (r)
		return r;
	fprintf(w->out, "\n%s=", *prefix ? "cfi" : "fl");
	r = callgrind_put_text(w, w->files, profile_string(w->p, info->filename));
	if (r)
		return r;
	fprintf(w->out, "\n%sfn=", prefix);
	r = callgrind_put_function(w, node);
	fputc('\n', w->out);
	return r;
}

static int64_t callgrind_scale_value(const struct callgrind_writer *w, int64_t value)
{
	const char *unit;

	return values_clamp(measure_scale(values_divide(&w->values, value), w->values.unit,
					  w->values.to, &unit));
}

static bool callgrind_is_same(const struct frame *a, const struct frame *b)
{
	return a->object == b->object && a->filename == b->filename && a->name == b->name;
}

static int callgrind_put_node(const struct callgrind_writer *w, uint32_t id, uint32_t before)
{
	const struct graph_node *node = &w->g->nodes[id];
	const struct frame *info = graph_frame(w->g, id);
	const uint32_t *calls;
	size_t n;

	if (before == GRAPH_NONE || !callgrind_is_same(info, graph_frame(w->g, before))) {
		int r;

		fputc('\n', w->out);
		r = callgrind_put_place(w, id, "");
		if (r)
			return r;
	}
	fprintf(w->out, "0x%" PRIx64 " %" PRId64 " %" PRId64 "\n", info->address, info->line,
		callgrind_scale_value(w, graph_mean(node->flat)));
	calls = graph_callees(w->g, id, &n);
	for (size_t i = 0; i < n; i++) {
		const struct graph_call *call = &w->g->calls[calls[i]];
		const struct frame *callee = graph_frame(w->g, call->callee);
		int r = callgrind_put_place(w, call->callee, "c");

		if (r)
			return r;
		fprintf(w->out, "calls=1 0x%" PRIx64 " %" PRId64 "\n* * %" PRId64 "\n",
			callee->address, callee->line,
			callgrind_scale_value(w, call->weight.value));
	}
	return 0;
}

/* "cpu(ms)", one word: blanks stand between events. */
static int callgrind_put_event(const struct callgrind_writer *w, const struct view_input *input)
{
	char type[256];
	cleanup(freep) char *event = NULL;

	if (text_print(&event, "%s(%s)", values_type(input, type, sizeof(type)), w->values.to))
		return -ENOMEM;
	utf8_make_harmless(event, "");
	for (char *c = event; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	fprintf(w->out, "events: %s\n", event);
	return 0;
}

static int callgrind_put_graph(struct callgrind_writer *w, const struct view_input *input)
{
	const struct graph *g = w->g;
	int r;

	fputs("# callgrind format\nversion: 1\ncreator: profctl " PROFD_VERSION
	      "\npositions: instr line\n",
	      w->out);
	r = callgrind_put_event(w, input);
	for (size_t i = 0; i < g->n_order && !r; i++)
		r = callgrind_put_node(w, g->order[i], i ? g->order[i - 1] : GRAPH_NONE);
	return r;
}

static void callgrind_writer_deinit(struct callgrind_writer *w)
{
	profile_free(w->objects);
	profile_free(w->files);
	profile_free(w->functions);
}

static int callgrind_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(callgrind_writer_deinit) struct callgrind_writer w = {.out = out,
								      .g = view->graph,
								      .p = input->profile};
	struct profile **const texts[] = {&w.objects, &w.files, &w.functions};
	int r = 0;

	values_init_for(&w.values, view, input, true);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !r; i++)
		r = profile_new(texts[i]);
	return r ?: callgrind_put_graph(&w, input);
}

const struct view_class view_callgrind = {
	.name = "callgrind",
	.wants_addresses = true,
	.graph = {.is_wanted = true, .is_whole = true, .wants_calls = true},
	.end = callgrind_end,
};
