/* SPDX-License-Identifier: MIT */
/*
 * --speedscope: speedscope's own JSON (https://www.speedscope.app/file-format-schema.json),
 * "sampled" profiles: one of all stacks and, where labels tell threads apart, one of each of the
 * THREADS_MAX - 1 that came first, and one of all other threads. A thread is what has its own
 * labels pid, comm, thread and tid. One tree has all stacks, with a group a thread: what ends in a
 * group is a profile of its own.
 *
 * Stacks are in no order of time, as profiles know of none: "Left Heavy" and "Sandwich" are what
 * to look at there. Values below zero cannot be told and are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"
#include "client/analysis/title.h"
#include "client/analysis/view.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/profile.h"

#define THREADS_MAX 64

struct speedscope {
	struct view view;
	char *threads[THREADS_MAX]; /* names; "": stacks that tell of none */
	uint32_t n_threads;
};

/* What is written: numbers of frames as they come in the order of nodes. */
struct speedscope_file {
	const struct view_input *input;
	const struct stack_tree *tree;
	struct frame_names names;
	uint32_t *path; /* numbers, from the root */
	uint32_t cut;   /* the number of what was cut off; PROFILE_NONE: nothing was */
	FILE *out;
};

static void speedscope_deinit(struct view *view)
{
	struct speedscope *s = (struct speedscope *)view;

	for (uint32_t i = 0; i < s->n_threads; i++)
		free(s->threads[i]);
}

static int speedscope_init(struct view *view)
{
	return stack_tree_new(&view->tree, STACK_TREE_NODES_MAX, 1);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void speedscope_write_label(const struct profile *p, const struct stack *stack,
				   const char *key, const char *show, FILE *out)
{
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (strcmp(profile_string(p, l->key), key) != 0)
			continue;
		fprintf(out, "%s%s", ftell(out) ? " " : "", show);
		if (l->str)
			fputs(profile_string(p, l->str), out);
		else
			fprintf(out, "%" PRId64, l->num);
		return;
	}
}

/* "nginx pid 12 thread worker tid 34", as far as labels tell. */
static int speedscope_thread_name(const struct profile *p, const struct stack *stack,
				  struct memory_text *ret)
{
	int r = memory_text_open(ret);

	if (r)
		return r;
	speedscope_write_label(p, stack, "comm", "", ret->out);
	speedscope_write_label(p, stack, "pid", "pid ", ret->out);
	speedscope_write_label(p, stack, "thread", "thread ", ret->out);
	speedscope_write_label(p, stack, "tid", "tid ", ret->out);
	return memory_text_close(ret);
}

static int speedscope_find_thread(struct speedscope *s, const struct profile *p,
				  const struct stack *stack, uint32_t *ret)
{
	cleanup(memory_text_deinit) struct memory_text name = {0};
	uint32_t i = 0;
	int r = speedscope_thread_name(p, stack, &name);

	if (r)
		return r;
	while (i < s->n_threads && strcmp(s->threads[i], name.text) != 0)
		i++;
	if (i == THREADS_MAX)
		i--;
	if (i == s->n_threads) {
		s->threads[i] = i < THREADS_MAX - 1 ? steal_ptr(&name.text)
						    : strdup("other threads");
		if (!s->threads[i])
			return error_origin(-ENOMEM);
		s->n_threads++;
	}
	*ret = i;
	return 0;
}

static int speedscope_add(struct view *view, const struct view_input *input,
			  const struct stack *stack)
{
	struct speedscope *s = (struct speedscope *)view;
	uint32_t thread = 0;
	int r = speedscope_find_thread(s, input->profile, stack, &thread);

	return r ?: stack_tree_add(s->view.tree, thread, stack, &stack->values[input->type]);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void speedscope_file_deinit(struct speedscope_file *f)
{
	frame_names_deinit(&f->names);
	free(f->path);
}

static void speedscope_write_frame(const struct speedscope_file *f, uint32_t frame)
{
	const struct frame *info = &f->input->frames[frame];
	const char *file = profile_string(f->input->profile, info->filename);

	fputs("{\"name\":", f->out);
	json_text_write(f->out, f->names.texts.all[frame]);
	if (*file) {
		fputs(",\"file\":", f->out);
		json_text_write(f->out, file);
	}
	if (info->line > 0)
		fprintf(f->out, ",\"line\":%" PRId64, info->line);
	if (info->line > 0 && info->column > 0)
		fprintf(f->out, ",\"col\":%" PRId32, info->column);
	fputc('}', f->out);
}

/* Groups are not frames; nor have numbers below THREADS_MAX names for being groups. */
static void speedscope_write_frames(struct speedscope_file *f)
{
	uint32_t n = 0;

	fputs("\"shared\":{\"frames\":[", f->out);
	for (size_t i = 0; i < f->names.order.n; i++) {
		uint32_t frame = f->names.order.all[i].node->frame;
		uint32_t *number = frame == STACK_TREE_CUT ? &f->cut : &f->names.numbers[frame];

		if (!f->names.order.all[i].depth || *number != PROFILE_NONE)
			continue;
		fputs(n ? ",\n" : "\n", f->out);
		*number = n++;
		if (frame == STACK_TREE_CUT)
			fputs("{\"name\":\"(too light to be kept)\"}", f->out);
		else
			speedscope_write_frame(f, frame);
	}
	fputs("]},\n", f->out);
}

/* Where the subtree that begins at @i of the order ends. */
static size_t subtree_end(const struct speedscope_file *f, size_t i)
{
	size_t end = i + 1;

	while (end < f->names.order.n &&
	       f->names.order.all[end].depth > f->names.order.all[i].depth)
		end++;
	return end;
}

static int64_t speedscope_write_samples(struct speedscope_file *f, size_t begin, size_t end)
{
	const char *separator = "";
	int64_t sum = 0;

	fputs(",\"samples\":[", f->out);
	for (size_t i = begin; i < end; i++) {
		const struct stack_tree_node *node = f->names.order.all[i].node;
		int64_t self = stack_tree_value(f->tree, node, 0);
		uint32_t depth = f->names.order.all[i].depth;

		if (depth)
			f->path[depth - 1] = node->frame == STACK_TREE_CUT
						     ? f->cut
						     : f->names.numbers[node->frame];
		if (self <= 0)
			continue;
		sum = clamped_add(sum, self);
		fprintf(f->out, "%s[", separator);
		for (uint32_t d = 0; d < depth; d++)
			fprintf(f->out, "%s%" PRIu32, d ? "," : "", f->path[d]);
		fputc(']', f->out);
		separator = ",\n";
	}
	separator = "";
	fputs("],\"weights\":[", f->out);
	for (size_t i = begin; i < end; i++) {
		int64_t self = stack_tree_value(f->tree, f->names.order.all[i].node, 0);

		if (self <= 0)
			continue;
		fprintf(f->out, "%s%" PRId64, separator, self);
		separator = ",";
	}
	fputc(']', f->out);
	return sum;
}

/* One of speedscope's units, which are few. */
static const char *speedscope_unit_name(const struct view_input *input)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};
	const char *unit = profile_string(input->profile,
					  input->profile->sample_types[input->type].unit);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i]) == 0)
			return units[i];
	return "none";
}

static void speedscope_write_profile(struct speedscope_file *f, const char *name, size_t begin,
				     size_t end)
{
	int64_t sum;

	fputs("{\"type\":\"sampled\",\"name\":", f->out);
	json_text_write(f->out, name);
	fprintf(f->out, ",\"unit\":\"%s\",\"startValue\":0", speedscope_unit_name(f->input));
	sum = speedscope_write_samples(f, begin, end);
	fprintf(f->out, ",\"endValue\":%" PRId64 "}", sum);
}

static int speedscope_write_file(struct speedscope_file *f, const struct speedscope *s)
{
	cleanup(freep) char *title = NULL;
	int r = report_title_print(f->input, "Profile", &title);

	if (r)
		return r;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"profd " PROFD_VERSION "\",\"name\":",
	      f->out);
	json_text_write(f->out, title);
	fputs(",\"activeProfileIndex\":0,\n", f->out);
	speedscope_write_frames(f);
	fputs("\"profiles\":[", f->out);
	speedscope_write_profile(f, s->n_threads > 1 ? "all threads" : title, 0, f->names.order.n);
	for (size_t i = 0; i < f->names.order.n && s->n_threads > 1; i = subtree_end(f, i)) {
		uint32_t thread = f->names.order.all[i].node->frame;
		const char *name = thread < s->n_threads ? s->threads[thread] : "";

		if (thread == STACK_TREE_CUT)
			continue; /* of all of them */
		fputs(",\n", f->out);
		speedscope_write_profile(f, *name ? name : "(no labels)", i, subtree_end(f, i));
	}
	fputs("]}\n", f->out);
	return VIEW_E_OK;
}

static int speedscope_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(speedscope_file_deinit) struct speedscope_file file = {
		.input = input, .tree = view->tree, .out = out, .cut = PROFILE_NONE};
	int r = frame_names_init(&file.names, input, view->tree);

	if (r)
		return r;
	file.path = calloc(file.names.order.n + 1, sizeof(*file.path));
	if (!file.path)
		return error_origin(-ENOMEM);
	return speedscope_write_file(&file, (const struct speedscope *)view);
}

const struct view_class view_speedscope = {
	.name = "speedscope",
	.size = sizeof(struct speedscope),
	.init = speedscope_init,
	.add = speedscope_add,
	.end = speedscope_end,
	.deinit = speedscope_deinit,
};
