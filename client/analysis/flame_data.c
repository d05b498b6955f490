/* SPDX-License-Identifier: MIT */
/*
 * What a flame graph is drawn from, as flame/data.js takes it: nodes in stack_tree_order(), four
 * arrays of numbers; frames numbered as they come there, and texts interned, so that numbers are
 * short. Values of other types than the chosen one stand apart from them, for those nodes alone
 * that have any: mostly the ends of stacks, one in ten.
 *
 * Of wall-clock time, boxes show how much of it is waiting: those values are there even where
 * nobody asked for their type, which then is a part of the chosen one.
 *
 * Stacks that are labelled pprof::base=true, as pprof labels what --diff_base takes away, are what
 * the others are compared with: their values, which are negative there, become the nodes' base.
 *
 * How long the data of a tree is depends on its names: where there is a bound, it is written, and
 * if it is too long, once more with as many nodes fewer.
 */
#include "client/analysis/flame_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/flame_notes.h"
#include "client/analysis/frame_kind.h"
#include "client/analysis/json_text.h"
#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"
#include "client/analysis/title.h"
#include "client/analysis/view.h"
#include "client/analysis/wall.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

#define FLAME_NODES_MAX  ((size_t)1 << 20) /* some 15 bytes each */
#define FLAME_OTHERS_MAX ((size_t)1 << 19) /* some 10 bytes each */
#define NODE_BYTES       12 /* of one node where there are many: 7 to 18, and its name */
#define NOTES_SHARE      8  /* of a bound: notes are not for more */

/* What is written, with the data's own numbers of frames and texts. */
struct flame_writing {
	struct flame_data *f;
	const struct view_input *input;
	FILE *out;
	struct frame_names names; /* with the nodes in their order */
	uint32_t *frames;         /* by number */
	size_t n_frames;
	struct profile *texts;
};

void flame_data_deinit(struct flame_data *f)
{
	stack_tree_free(f->tree);
}

/* Of wall-clock time alone, the type of its part that is waiting. */
static void flame_add_part(struct flame_data *f, const struct view_input *input)
{
	const struct profile *p = input->profile;
	unsigned off;

	if (f->n_types > 1 || !profile_find_type(p, WALL_OFF_TYPE, &off) ||
	    strcmp(profile_string(p, p->sample_types[input->type].type), WALL_TYPE) != 0)
		return;
	f->types[f->n_types++] = off;
	f->has_part = true;
}

/* Now that it is known which types there are. */
static int flame_make_tree(struct flame_data *f, const struct view_input *input)
{
	if (f->tree)
		return 0;
	f->types[f->n_types++] = input->type;
	for (unsigned i = 0; i < input->profile->n_sample_types && input->totals; i++)
		if (i != input->type && !f->one_type && f->n_types < FLAME_TYPES_MAX)
			f->types[f->n_types++] = i;
	flame_add_part(f, input);
	return stack_tree_new(&f->tree, STACK_TREE_NODES_MAX, f->n_types * 2);
}

int flame_data_add(struct flame_data *f, const struct view_input *input, const struct stack *stack)
{
	bool base = compare_is_base(input->profile, stack->labels, stack->n_labels);
	int64_t values[FLAME_TYPES_MAX * 2] = {0};
	int r = flame_make_tree(f, input);

	if (r)
		return r;
	f->has_base |= base;
	for (unsigned i = 0; i < f->n_types; i++) {
		int64_t value = stack->values[f->types[i]];

		if (base)
			values[2 * i + 1] = value == INT64_MIN ? INT64_MAX : -value;
		else
			values[2 * i] = value;
	}
	return stack_tree_add(f->tree, STACK_TREE_NO_GROUP, stack, values);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void flame_writing_deinit(struct flame_writing *p)
{
	frame_names_deinit(&p->names);
	profile_free(p->texts);
	free(p->frames);
}

static int flame_writing_init(struct flame_writing *p)
{
	int r = frame_names_init(&p->names, p->input, p->f->tree) ?: profile_new(&p->texts);

	if (r)
		return r;
	p->frames = calloc(p->names.n + 1, sizeof(*p->frames));
	if (!p->frames)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->names.order.n; i++) {
		uint32_t frame = p->names.order.all[i].node->frame;

		p->f->is_cut |= frame == STACK_TREE_CUT;
		if (frame == STACK_TREE_CUT || p->names.numbers[frame] != PROFILE_NONE)
			continue;
		p->names.numbers[frame] = (uint32_t)p->n_frames;
		p->frames[p->n_frames++] = frame;
	}
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static const char *flame_frame_name(const struct flame_writing *p, uint32_t frame)
{
	return p->names.texts.all[frame];
}

static const char *flame_frame_file(const struct flame_writing *p, uint32_t frame)
{
	return profile_string(p->input->profile, p->input->frames[frame].filename);
}

static const char *flame_frame_module(const struct flame_writing *p, uint32_t frame)
{
	return profile_string(p->input->profile, p->input->frames[frame].object);
}

static const char *flame_frame_kind(const struct flame_writing *p, uint32_t frame)
{
	return frame_kind(p->input->profile, &p->input->frames[frame]);
}

static const struct flame_frame_text {
	const char *key;
	const char *(*of)(const struct flame_writing *p, uint32_t frame);
} flame_frame_texts[] = {
	{"name", flame_frame_name},
	{"file", flame_frame_file},
	{"module", flame_frame_module},
	{"kind", flame_frame_kind},
};

static int flame_write_frame_texts(struct flame_writing *p, const struct flame_frame_text *text)
{
	fprintf(p->out, "\"%s\":[", text->key);
	for (size_t i = 0; i < p->n_frames; i++) {
		uint32_t number;
		int r = profile_add_text(p->texts, text->of(p, p->frames[i]), &number);

		if (r)
			return r;
		json_list_number(p->out, !i, number);
	}
	fputs("],", p->out);
	return 0;
}

/* Frames, and then the texts that they name by number. */
static int flame_write_frames(struct flame_writing *p)
{
	const struct frame *frames = p->input->frames;
	bool by_line = false, by_column = false;
	int r = 0;

	fputs("\"frames\":{", p->out);
	for (size_t i = 0; i < ARRAY_SIZE(flame_frame_texts) && !r; i++)
		r = flame_write_frame_texts(p, &flame_frame_texts[i]);
	if (r)
		return r;
	fputs("\"line\":[", p->out);
	for (size_t i = 0; i < p->n_frames; i++) {
		int64_t line = frames[p->frames[i]].line;

		by_line |= line != 0;
		by_column |= frames[p->frames[i]].column != 0;
		json_list_number(p->out, !i, line);
	}
	if (by_column)
		fputs("],\"column\":[", p->out);
	for (size_t i = 0; by_column && i < p->n_frames; i++)
		json_list_number(p->out, !i, frames[p->frames[i]].column);
	fprintf(p->out, "]},\n\"by_line\":%s,\n\"strings\":[", by_line ? "true" : "false");
	for (uint32_t i = 0; i < profile_n_strings(p->texts); i++) {
		fputs(i ? "," : "", p->out);
		json_text_write(p->out, profile_string(p->texts, i));
	}
	fputs("],\n", p->out);
	return 0;
}

static bool flame_has_other_values(const struct flame_data *f, const struct stack_tree_node *node)
{
	for (unsigned i = 2; node->values && i < f->n_types * 2; i++)
		if (stack_tree_value(f->tree, node, i))
			return true;
	return false;
}

/* "key": the @value'th of all nodes, or of those that have values of other types. */
static void flame_write_values(const struct flame_writing *p, const char *key, unsigned value,
			       bool of_all)
{
	bool is_first = true;

	fprintf(p->out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < p->names.order.n; i++) {
		const struct stack_tree_node *node = p->names.order.all[i].node;

		if (!of_all && !flame_has_other_values(p->f, node))
			continue;
		json_list_number(p->out, is_first, stack_tree_value(p->f->tree, node, value));
		is_first = false;
	}
	fputc(']', p->out);
}

/* Of the @type'th of the page's types: what ends at the root, and all nodes. */
static void flame_write_root(const struct flame_writing *p, unsigned type)
{
	size_t n;
	const struct stack_tree_node *root = stack_tree_nodes(p->f->tree, &n);

	fprintf(p->out, "\"root\":[%" PRId64 ",%" PRId64 "]",
		stack_tree_value(p->f->tree, root, 2 * type),
		stack_tree_value(p->f->tree, root, 2 * type + 1));
}

static void flame_write_type_values(const struct flame_writing *p, unsigned type)
{
	flame_write_values(p, "self", 2 * type, !type);
	if (p->f->has_base)
		flame_write_values(p, "base", 2 * type + 1, !type);
}

static void flame_write_nodes(const struct flame_writing *p)
{
	const struct stack_tree_order *order = &p->names.order;

	fputs("\"nodes\":{", p->out);
	flame_write_root(p, 0);
	fputs(",\n\"depth\":[", p->out);
	for (size_t i = 0; i < order->n; i++)
		json_list_number(p->out, !i, order->all[i].depth);
	fputs("],\n\"frame\":[", p->out);
	for (size_t i = 0; i < order->n; i++) {
		const struct stack_tree_node *node = order->all[i].node;

		json_list_number(p->out, !i,
				 node->frame == STACK_TREE_CUT
					 ? -1
					 : p->names.numbers[node->frame] * INT64_C(2) +
						   node->is_inlined);
	}
	fputc(']', p->out);
	flame_write_type_values(p, 0);
	fputc('}', p->out);
}

/* --- other types ------------------------------------------------------------------------------ */

/* As many of the types as there is room for in the page. */
static void flame_fit_types(struct flame_data *f)
{
	size_t n, n_with = 0;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->tree, &n);

	for (size_t i = 0; i < n; i++)
		n_with += flame_has_other_values(f, &nodes[i]);
	n_with *= f->has_base ? 2 : 1;
	while (f->n_types > 1 && n_with * (f->n_types - 1) > FLAME_OTHERS_MAX)
		f->n_types--;
}

static void flame_write_type(const struct profile *p, unsigned type, int64_t total, FILE *out)
{
	fprintf(out, "{\"index\":%u,\"type\":", type);
	json_text_write(out, profile_string(p, p->sample_types[type].type));
	fputs(",\"unit\":", out);
	json_text_write(out, profile_string(p, p->sample_types[type].unit));
	fprintf(out, ",\"total\":%" PRId64, total);
}

/* Which nodes have values, each counted from the one before, and those of each type. */
static void flame_write_other_types(const struct flame_writing *p)
{
	const struct flame_data *f = p->f;
	bool is_first = true;
	size_t last = 0;

	if (f->n_types < 2)
		return;
	fputs(",\n\"others\":{\"at\":[", p->out);
	for (size_t i = 0; i < p->names.order.n; i++) {
		if (!flame_has_other_values(f, p->names.order.all[i].node))
			continue;
		json_list_number(p->out, is_first, (int64_t)(i - last));
		is_first = false;
		last = i;
	}
	fputs("],\n\"types\":[", p->out);
	for (unsigned i = 1; i < f->n_types; i++) {
		fputs(i > 1 ? ",\n" : "", p->out);
		flame_write_type(p->input->profile, f->types[i],
				 f->has_part ? 0 : p->input->totals[f->types[i]], p->out);
		fputs(f->has_part ? ",\"is_part\":true," : ",", p->out);
		flame_write_root(p, i);
		flame_write_type_values(p, i);
		fputc('}', p->out);
	}
	fputs("]}", p->out);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* With a bound, notes beyond it are left out. */
static int flame_write_notes(const struct view_input *input, size_t max, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text notes = {0};
	int r;

	if (!max)
		return flame_notes_write(input, out);
	r = memory_text_open(&notes)
		    ?: flame_notes_write(input, notes.out)
		    ?: memory_text_close(&notes);
	if (!r)
		fputs(notes.length <= max ? notes.text : "[]", out);
	return r;
}

static int flame_write_head(const struct view_input *input, const struct view_options *options,
			    FILE *out)
{
	const struct profile *p = input->profile;
	cleanup(freep) char *title = NULL;
	int r = report_title_print(input, "Profile", &title);

	if (r)
		return r;
	fputs("{\"title\":", out);
	json_text_write(out, title);
	fputs(",\n\"chosen\":", out);
	flame_write_type(p, input->type, input->total, out);
	fputs("},\n\"shown_unit\":", out);
	json_text_write(out, options->unit ? options->unit : "auto");
	fprintf(out, ",\n\"divide_by\":%.17g,\n\"filters\":[", options->divide_by);
	for (size_t i = 0; i < options->n_filters; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, options->filters[i]);
	}
	fputs("],\n", out);
	fputs("\"notes\":", out);
	r = flame_write_notes(input, options->max_bytes / NOTES_SHARE, out);
	fputs(",\n", out);
	return r;
}

static int flame_write_all(struct flame_data *f, const struct view_input *input,
			   const struct view_options *options, FILE *out)
{
	cleanup(flame_writing_deinit) struct flame_writing writing = {.f = f,
								      .input = input,
								      .out = out};
	int r = flame_writing_init(&writing);

	if (r)
		return r;
	flame_fit_types(f);
	r = flame_write_head(input, options, out) ?: flame_write_frames(&writing);
	if (r)
		return r;
	flame_write_nodes(&writing);
	flame_write_other_types(&writing);
	fputc('}', out);
	return VIEW_E_OK;
}

/* How many nodes to keep where @n of them took @length bytes; fewer than before. */
static size_t flame_fewer_nodes(size_t n, size_t length, size_t max)
{
	double wanted = (double)n * (double)max / (double)length * 0.9;

	return wanted > (double)STACK_TREE_NODES_LEAST ? (size_t)wanted : STACK_TREE_NODES_LEAST;
}

int flame_data_write(struct flame_data *f, const struct view_input *input,
		     const struct view_options *options, FILE *out)
{
	size_t n = FLAME_NODES_MAX, max = options->max_bytes, n_before;
	int r = flame_make_tree(f, input);

	if (max && n > max / NODE_BYTES)
		n = max / NODE_BYTES;
	do {
		cleanup(memory_text_deinit) struct memory_text text = {0};

		r = r ?: stack_tree_shrink(f->tree, n);
		if (r || !max)
			return r ?: flame_write_all(f, input, options, out);
		r = memory_text_open(&text)
			    ?: flame_write_all(f, input, options, text.out)
			    ?: memory_text_close(&text);
		if (r)
			return r;
		if (text.length <= max) {
			fwrite(text.text, 1, text.length, out);
			return VIEW_E_OK;
		}
		stack_tree_nodes(f->tree, &n_before);
		n = flame_fewer_nodes(n_before, text.length, max);
	} while (n < n_before);
	return VIEW_E_TOO_LONG;
}
