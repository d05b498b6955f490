/* SPDX-License-Identifier: MIT */
/*
 * --callgrind: the call graph in callgrind's format (valgrind's manual, "Callgrind Format
 * Specification"), as KCachegrind and callgrind_annotate read it: addresses and lines, each with
 * what it weighs and what its calls weigh. Names are written once and then called by their number.
 * How often something was called nobody counted. It is said to be once, and not 0 times as pprof
 * says, of which callgrind_annotate makes no calls, and of what they weigh the caller's own weight.
 *
 * Callgrind takes functions of one name and file for one; where they are not (of other objects, or
 * with call_tree on other ways), their names end in [1/2].
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/text_print.h"
#include "common/utf8.h"

/* Which of its namesakes a function is. */
struct namesake {
	uint32_t caller;      /* with call_tree; else GRAPH_NONE */
	uint32_t whole, name; /* into whole, names */
	uint32_t which;       /* from 1 on */
};

struct callgrind_writer {
	FILE *out;
	const struct graph *g;
	const struct profile *p;
	struct values values;
	/* Texts that were written, by the number that they have: a profile's strings. */
	struct profile *objects, *files, *functions;
	struct frames whole;        /* functions, without address and line */
	struct frames names;        /* without object, too */
	uint32_t *n_namesakes;      /* by names */
	struct namesake *namesakes; /* by caller and whole */
	struct intern namesakes_in;
	uint32_t *function_of; /* by node, into namesakes[] */
};

/* Finds out which function @node is a part of. */
static int callgrind_find_function(struct callgrind_writer *w, uint32_t node)
{
	const struct graph_node *n = &w->g->nodes[node];
	const struct frame *info = &w->g->infos.all[n->info];
	struct frame key = {.name = info->name, .filename = info->filename};
	struct namesake function = {.caller = n->parent};
	size_t n_before = w->namesakes_in.n;
	int r;

	/* What has no name is called by its object. */
	if (!info->name)
		key.object = info->object;
	r = frames_intern(&w->names, &key, &function.name);
	if (r)
		return r;
	key.object = info->object;
	key.start_line = info->name ? info->start_line : 0;
	r = frames_intern(&w->whole, &key, &function.whole);
	if (r)
		return r;
	r = intern_add(&w->namesakes_in, &w->namesakes, &function, sizeof(function),
		       offsetof(struct namesake, name), &w->function_of[node]);
	if (!r && w->namesakes_in.n > n_before)
		w->namesakes[n_before].which = ++w->n_namesakes[function.name];
	return r;
}

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
	const struct frame *info = &w->g->infos.all[w->g->nodes[node].info];
	const struct namesake *namesake = &w->namesakes[w->function_of[node]];
	uint32_t n = w->n_namesakes[namesake->name];
	const char *name = profile_string(w->p, info->name);
	const char *object = node_name_base(profile_string(w->p, info->object));
	cleanup(freep) char *text = NULL;
	char which[32] = "";
	int r;

	if (n > 1)
		snprintf(which, sizeof(which), " [%" PRIu32 "/%" PRIu32 "]", namesake->which, n);
	if (*name)
		r = text_print(&text, "%s%s", name, which);
	else if (*object)
		r = text_print(&text, "[%s]%s", object, which);
	else
		r = text_print(&text, "<unknown>%s", which);
	return r ?: callgrind_put_text(w, w->functions, text);
}

/* What a line is about; @prefix: "", or "c" for who is called. */
static int callgrind_put_place(const struct callgrind_writer *w, uint32_t node, const char *prefix)
{
	const struct frame *info = &w->g->infos.all[w->g->nodes[node].info];
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

static int callgrind_put_node(const struct callgrind_writer *w, uint32_t id, uint32_t before)
{
	const struct graph_node *node = &w->g->nodes[id];
	const struct frame *info = &w->g->infos.all[node->info];
	const uint32_t *calls;
	size_t n;

	if (before == GRAPH_NONE || w->function_of[before] != w->function_of[id]) {
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
		const struct frame *callee = &w->g->infos.all[w->g->nodes[call->callee].info];
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
	utf8_make_harmless(event);
	for (char *c = event; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	fprintf(w->out, "events: %s\n", event);
	return 0;
}

static int callgrind_put_graph(struct callgrind_writer *w, const struct view_input *input)
{
	const struct graph *g = w->g;
	int r = 0;

	/* Calls may lead to what is not listed, where negative values are left out. */
	for (uint32_t i = 0; i < g->nodes_in.n && !r; i++)
		if (g->nodes[i].is_listed)
			r = callgrind_find_function(w, i);
	for (size_t i = 0; i < g->calls_in.n && !r; i++)
		r = callgrind_find_function(w, g->calls[i].callee);
	fputs("# callgrind format\nversion: 1\ncreator: profctl " PROFD_VERSION
	      "\npositions: instr line\n",
	      w->out);
	if (!r)
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
	frames_deinit(&w->whole);
	frames_deinit(&w->names);
	intern_deinit(&w->namesakes_in);
	free(w->n_namesakes);
	free(w->namesakes);
	free(w->function_of);
}

static int callgrind_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(callgrind_writer_deinit) struct callgrind_writer w = {.out = out,
								      .g = view->graph,
								      .p = input->profile};
	struct profile **const texts[] = {&w.objects, &w.files, &w.functions};
	size_t n = view->graph->nodes_in.n + 1;
	int r = 0;

	values_init_for(&w.values, view, input, true);
	w.n_namesakes = calloc(n, sizeof(*w.n_namesakes));
	w.function_of = calloc(n, sizeof(*w.function_of));
	if (!w.n_namesakes || !w.function_of)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !r; i++)
		r = profile_new(texts[i]);
	return r ?: callgrind_put_graph(&w, input);
}

const struct view_class view_callgrind = {
	.name = "callgrind",
	.wants_addresses = true,
	.graph = {.is_wanted = true,
		  .is_whole = true,
		  .wants_calls = true,
		  .tells_objects = true,
		  .is_tree = true},
	.end = callgrind_end,
};
