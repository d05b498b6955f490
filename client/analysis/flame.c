/* SPDX-License-Identifier: MIT */
/*
 * What the page holds, as flame/data.js takes it: nodes in stack_tree_order(), four arrays of
 * numbers; frames numbered as they come there, and texts interned, so that numbers are short.
 * Values of other types than the chosen one stand apart from them, for those nodes alone that have
 * any: mostly the ends of stacks, one in ten.
 */
#include "client/analysis/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/flame_notes.h"
#include "client/analysis/flame_page.h"
#include "client/analysis/frame_names.h"
#include "client/analysis/json_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"
#include "common/error.h"
#include "common/profile/profile.h"

struct flame {
	/* Its tree is there from the first stack on: of each type the value and that of its base.
	 */
	struct view view;
	unsigned types[FLAME_TYPES_MAX]; /* of the profile's; the chosen one first */
	unsigned n_types;
	bool has_base;
};

/* The page's own numbers of frames and texts. */
struct flame_numbers {
	struct frame_names names;
	uint32_t *frames; /* by number */
	size_t n_frames;
	struct profile *texts;
};

/* Now that it is known which types there are. */
static int flame_make_tree(struct flame *f, const struct view_input *input)
{
	if (f->view.tree)
		return 0;
	f->types[f->n_types++] = input->type;
	for (unsigned i = 0; i < input->profile->n_sample_types && input->totals; i++)
		if (i != input->type && !f->view.options.one_type && f->n_types < FLAME_TYPES_MAX)
			f->types[f->n_types++] = i;
	return stack_tree_new(&f->view.tree, STACK_TREE_NODES_MAX, f->n_types * 2);
}

static bool flame_is_base_stack(const struct profile *p, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (view_is_base_label(p, l) && strcmp(profile_string(p, l->str), "true") == 0)
			return true;
	}
	return false;
}

static int flame_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct flame *f = (struct flame *)view;
	bool base = flame_is_base_stack(input->profile, stack);
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
	return stack_tree_add(f->view.tree, STACK_TREE_NO_GROUP, stack, values);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void flame_numbers_deinit(struct flame_numbers *n)
{
	frame_names_deinit(&n->names);
	profile_free(n->texts);
	free(n->frames);
}

static void number_frames(struct flame_numbers *n, const struct stack_tree *tree)
{
	size_t n_nodes;
	const struct stack_tree_node *nodes = stack_tree_nodes(tree, &n_nodes);

	for (size_t i = 0; i < n->names.order.n; i++) {
		uint32_t frame = nodes[n->names.order.nodes[i]].frame;

		if (frame == STACK_TREE_CUT || n->names.numbers[frame] != PROFILE_NONE)
			continue;
		n->names.numbers[frame] = (uint32_t)n->n_frames;
		n->frames[n->n_frames++] = frame;
	}
}

static int flame_numbers_init(struct flame_numbers *n, const struct flame *f,
			      const struct view_input *input)
{
	int r = frame_names_init(&n->names, input, f->view.tree);

	if (!r)
		r = profile_new(&n->texts);
	if (r)
		return r;
	n->frames = calloc(n->names.n + 1, sizeof(*n->frames));
	if (!n->frames)
		return error_origin(-ENOMEM);
	number_frames(n, f->view.tree);
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* @key: "name", "file" or "module" */
static int flame_write_frame_texts(struct flame_numbers *n, const struct view_input *input,
				   const char *key, FILE *out)
{
	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n->n_frames; i++) {
		const struct frame *frame = &input->frames[n->frames[i]];
		uint32_t text;
		int r = profile_add_text(n->texts,
					 *key == 'n' ? n->names.texts[n->frames[i]]
						     : profile_string(input->profile,
								      *key == 'f' ? frame->filename
										  : frame->object),
					 &text);

		if (r)
			return r;
		fprintf(out, "%s%" PRIu32, i ? "," : "", text);
	}
	fputs("],", out);
	return 0;
}

/* Frames, and then the texts that they name by number. */
static int flame_write_frames(struct flame_numbers *n, const struct view_input *input, FILE *out)
{
	bool by_line = false, by_column = false;
	int r;

	fputs("\"frames\":{", out);
	r = flame_write_frame_texts(n, input, "name", out);
	if (!r)
		r = flame_write_frame_texts(n, input, "file", out);
	if (!r)
		r = flame_write_frame_texts(n, input, "module", out);
	if (r)
		return r;
	fputs("\"line\":[", out);
	for (size_t i = 0; i < n->n_frames; i++) {
		int64_t line = input->frames[n->frames[i]].line;

		by_line |= line != 0;
		by_column |= input->frames[n->frames[i]].column != 0;
		fprintf(out, "%s%" PRId64, i ? "," : "", line);
	}
	if (by_column)
		fputs("],\"column\":[", out);
	for (size_t i = 0; by_column && i < n->n_frames; i++)
		fprintf(out, "%s%" PRId32, i ? "," : "", input->frames[n->frames[i]].column);
	fprintf(out, "]},\n\"by_line\":%s,\n\"strings\":[", by_line ? "true" : "false");
	for (uint32_t i = 0; i < profile_n_strings(n->texts); i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, profile_string(n->texts, i));
	}
	fputs("],\n", out);
	return 0;
}

static void flame_write_node(const struct flame *f, const struct flame_numbers *n,
			     const struct stack_tree_node *node, uint32_t depth, char array,
			     FILE *out)
{
	switch (array) {
	case 'd':
		fprintf(out, "%" PRIu32, depth);
		break;
	case 'f':
		if (node->frame == STACK_TREE_CUT)
			fputs("-1", out);
		else
			fprintf(out, "%" PRIu32,
				n->names.numbers[node->frame] * 2 + node->is_inlined);
		break;
	default:
		fprintf(out, "%" PRId64, stack_tree_value(f->view.tree, node, array == 'b'));
	}
}

static void flame_write_nodes(const struct flame *f, const struct flame_numbers *n, FILE *out)
{
	static const char *const keys[] = {"depth", "frame", "self", "base"};
	size_t n_nodes;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->view.tree, &n_nodes);

	fprintf(out, "\"nodes\":{\"root\":[%" PRId64 ",%" PRId64 "]",
		stack_tree_value(f->view.tree, nodes, 0), stack_tree_value(f->view.tree, nodes, 1));
	for (size_t k = 0; k < (f->has_base ? 4 : 3); k++) {
		fprintf(out, ",\n\"%s\":[", keys[k]);
		for (size_t i = 0; i < n->names.order.n; i++) {
			fputs(i ? "," : "", out);
			flame_write_node(f, n, &nodes[n->names.order.nodes[i]],
					 n->names.order.depths[i], keys[k][0], out);
		}
		fputc(']', out);
	}
	fputc('}', out);
}

/* --- other types ------------------------------------------------------------------------------ */

static bool flame_has_other_values(const struct flame *f, const struct stack_tree_node *node)
{
	for (unsigned i = 2; node->values && i < f->n_types * 2; i++)
		if (stack_tree_value(f->view.tree, node, i))
			return true;
	return false;
}

/* As many of the types as there is room for in the page. */
static void flame_fit_types(struct flame *f)
{
	size_t n, n_with = 0;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->view.tree, &n);

	for (size_t i = 0; i < n; i++)
		n_with += flame_has_other_values(f, &nodes[i]);
	n_with *= f->has_base ? 2 : 1;
	while (f->n_types > 1 && n_with * (f->n_types - 1) > FLAME_OTHERS_MAX)
		f->n_types--;
}

/* "key": the @value'th of all nodes that have values of other types. */
static void flame_write_values(const struct flame *f, const struct flame_numbers *n,
			       const char *key, unsigned value, FILE *out)
{
	size_t n_nodes;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->view.tree, &n_nodes);
	const char *separator = "";

	fprintf(out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < n->names.order.n; i++) {
		const struct stack_tree_node *node = &nodes[n->names.order.nodes[i]];

		if (!flame_has_other_values(f, node))
			continue;
		fprintf(out, "%s%" PRId64, separator, stack_tree_value(f->view.tree, node, value));
		separator = ",";
	}
	fputc(']', out);
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
static void flame_write_other_types(const struct flame *f, const struct flame_numbers *n,
				    const struct view_input *input, FILE *out)
{
	size_t n_nodes, last = 0;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->view.tree, &n_nodes);
	const char *separator = "";

	if (f->n_types < 2)
		return;
	fputs(",\n\"others\":{\"at\":[", out);
	for (size_t i = 0; i < n->names.order.n; i++) {
		if (!flame_has_other_values(f, &nodes[n->names.order.nodes[i]]))
			continue;
		fprintf(out, "%s%zu", separator, i - last);
		separator = ",";
		last = i;
	}
	fputs("],\n\"types\":[", out);
	for (unsigned i = 1; i < f->n_types; i++) {
		fputs(i > 1 ? ",\n" : "", out);
		flame_write_type(input->profile, f->types[i], input->totals[f->types[i]], out);
		fprintf(out, ",\"root\":[%" PRId64 ",%" PRId64 "]",
			stack_tree_value(f->view.tree, nodes, 2 * i),
			stack_tree_value(f->view.tree, nodes, 2 * i + 1));
		flame_write_values(f, n, "self", 2 * i, out);
		if (f->has_base)
			flame_write_values(f, n, "base", 2 * i + 1, out);
		fputc('}', out);
	}
	fputs("]}", out);
}

/* --- what else there is to say ---------------------------------------------------------------- */

static void flame_write_texts(const char *key, const char *const *texts, size_t n, FILE *out)
{
	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, texts[i]);
	}
	fputs("],\n", out);
}

static int flame_write_head(const struct flame *f, const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	const char *program = node_name_program(p);
	int r;

	fputs("{\"title\":", out);
	json_text_write(out, *program ? program : "Profile");
	fputs(",\n\"chosen\":", out);
	flame_write_type(p, input->type, input->total, out);
	fputs("},\n\"shown_unit\":", out);
	json_text_write(out, f->view.options.unit ? f->view.options.unit : "auto");
	fprintf(out, ",\n\"divide_by\":%.17g,\n", f->view.options.divide_by);
	flame_write_texts("filters", f->view.options.filters, f->view.options.n_filters, out);
	r = flame_notes_write(input, out);
	fputs(",\n", out);
	return r;
}

static int flame_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct flame *f = (struct flame *)view;
	cleanup(flame_numbers_deinit) struct flame_numbers numbers = {0};
	int r = flame_make_tree(f, input);

	if (!r)
		r = stack_tree_shrink(view->tree, FLAME_NODES_MAX);
	if (!r)
		r = flame_numbers_init(&numbers, f, input);
	if (r)
		return r;
	fwrite(flame_page_head, 1, flame_page_head_length, out);
	flame_fit_types(f);
	r = flame_write_head(f, input, out);
	if (!r)
		r = flame_write_frames(&numbers, input, out);
	if (r)
		return r;
	flame_write_nodes(f, &numbers, out);
	flame_write_other_types(f, &numbers, input, out);
	fputc('}', out);
	fwrite(flame_page_tail, 1, flame_page_tail_length, out);
	return VIEW_E_OK;
}

const struct view_class view_flame = {
	.name = "flame",
	.tells_all_types = true,
	.size = sizeof(struct flame),
	.add = flame_add,
	.end = flame_end,
};
