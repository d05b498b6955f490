/* SPDX-License-Identifier: MIT */
/*
 * What the page holds, as flame/model.js takes it: nodes in stack_tree_order(), four arrays of
 * numbers; frames numbered as they come there, and texts interned, so that numbers are short.
 */
#include "client/report/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/report/flame_page.h"
#include "client/report/frame_names.h"
#include "client/report/node_name.h"
#include "client/report/stack_tree.h"
#include "common/error.h"
#include "common/json_text.h"
#include "common/profile/profile.h"
#include "common/profile/shape.h"

struct flame {
	struct view view;
	struct view_options options;
	struct stack_tree *tree;
	bool has_base;
};

/* The page's own numbers of frames and texts. */
struct flame_numbers {
	struct frame_names names;
	struct stack_tree_order order;
	uint32_t *numbers; /* per frame of the input; PROFILE_NONE: it has none */
	uint32_t *frames;  /* and back */
	size_t n_frames;
	struct profile *texts;
};

static void flame_destroy(struct view *view)
{
	struct flame *f = (struct flame *)view;

	stack_tree_free(f->tree);
	free(f);
}

static int flame_make(struct view **ret, const struct view_options *options,
		      struct profile_message *message)
{
	struct flame *f = calloc(1, sizeof(*f));
	int r;

	(void)message;
	if (!f)
		return error_origin(-ENOMEM);
	f->view.class = &view_flame;
	f->options = *options;
	r = stack_tree_new(&f->tree, STACK_TREE_NODES_MAX);
	if (r) {
		flame_destroy(&f->view);
		return r;
	}
	*ret = &f->view;
	return 0;
}

static bool is_base(const struct profile *p, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (l->str && strcmp(profile_string(p, l->key), "pprof::base") == 0 &&
		    strcmp(profile_string(p, l->str), "true") == 0)
			return true;
	}
	return false;
}

static int flame_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct flame *f = (struct flame *)view;
	int64_t value = stack->values[input->type];

	if (!is_base(input->profile, stack))
		return stack_tree_add(f->tree, STACK_TREE_NO_GROUP, stack, value, 0);
	f->has_base = true;
	return stack_tree_add(f->tree, STACK_TREE_NO_GROUP, stack, 0,
			      value == INT64_MIN ? INT64_MAX : -value);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void numbers_deinit(struct flame_numbers *n)
{
	frame_names_deinit(&n->names);
	stack_tree_order_deinit(&n->order);
	profile_free(n->texts);
	free(n->numbers);
	free(n->frames);
}

static void number_frames(struct flame_numbers *n, const struct stack_tree *tree)
{
	size_t n_nodes;
	const struct stack_tree_node *nodes = stack_tree_nodes(tree, &n_nodes);

	for (size_t i = 0; i < n->names.n; i++)
		n->numbers[i] = PROFILE_NONE;
	for (size_t i = 0; i < n->order.n; i++) {
		uint32_t frame = nodes[n->order.nodes[i]].frame;

		if (frame == STACK_TREE_CUT || n->numbers[frame] != PROFILE_NONE)
			continue;
		n->numbers[frame] = (uint32_t)n->n_frames;
		n->frames[n->n_frames++] = frame;
	}
}

static int numbers_init(struct flame_numbers *n, const struct flame *f,
			const struct view_input *input)
{
	int r = frame_names_init(&n->names, input, f->tree);

	if (!r)
		r = stack_tree_order(f->tree, n->names.ranks, false, &n->order);
	if (!r)
		r = profile_new(&n->texts);
	if (r)
		return r;
	n->numbers = calloc(n->names.n + 1, sizeof(*n->numbers));
	n->frames = calloc(n->names.n + 1, sizeof(*n->frames));
	if (!n->numbers || !n->frames)
		return error_origin(-ENOMEM);
	number_frames(n, f->tree);
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_texts_of(struct flame_numbers *n, const struct view_input *input, const char *key,
			  const char *(*text_of)(const struct flame_numbers *n,
						 const struct view_input *input, uint32_t frame),
			  FILE *out)
{
	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n->n_frames; i++) {
		uint32_t text;
		int r = profile_add_text(n->texts, text_of(n, input, n->frames[i]), &text);

		if (r)
			return r;
		fprintf(out, "%s%" PRIu32, i ? "," : "", text);
	}
	fputs("],", out);
	return 0;
}

static const char *name_of(const struct flame_numbers *n, const struct view_input *input,
			   uint32_t frame)
{
	(void)input;
	return n->names.texts[frame];
}

static const char *file_of(const struct flame_numbers *n, const struct view_input *input,
			   uint32_t frame)
{
	(void)n;
	return profile_string(input->profile, input->frames[frame].filename);
}

static const char *module_of(const struct flame_numbers *n, const struct view_input *input,
			     uint32_t frame)
{
	(void)n;
	return profile_string(input->profile, input->frames[frame].object);
}

/* Frames, and then the texts that they name by number. */
static int write_frames(struct flame_numbers *n, const struct view_input *input, FILE *out)
{
	bool by_line = false;
	int r;

	fputs("\"frames\":{", out);
	r = write_texts_of(n, input, "name", name_of, out);
	if (!r)
		r = write_texts_of(n, input, "file", file_of, out);
	if (!r)
		r = write_texts_of(n, input, "module", module_of, out);
	if (r)
		return r;
	fputs("\"line\":[", out);
	for (size_t i = 0; i < n->n_frames; i++) {
		int64_t line = input->frames[n->frames[i]].line;

		by_line |= line != 0;
		fprintf(out, "%s%" PRId64, i ? "," : "", line);
	}
	fprintf(out, "]},\n\"by_line\":%s,\n\"strings\":[", by_line ? "true" : "false");
	for (uint32_t i = 0; i < profile_n_strings(n->texts); i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, profile_string(n->texts, i));
	}
	fputs("],\n", out);
	return 0;
}

static void write_node(const struct flame_numbers *n, const struct stack_tree_node *node,
		       uint32_t depth, char array, FILE *out)
{
	switch (array) {
	case 'd':
		fprintf(out, "%" PRIu32, depth);
		break;
	case 'f':
		if (node->frame == STACK_TREE_CUT)
			fputs("-1", out);
		else
			fprintf(out, "%" PRIu32, n->numbers[node->frame] * 2 + node->is_inlined);
		break;
	default:
		fprintf(out, "%" PRId64, array == 's' ? node->self : node->base);
	}
}

static void write_nodes(const struct flame *f, const struct flame_numbers *n, FILE *out)
{
	static const char *const keys[] = {"depth", "frame", "self", "base"};
	size_t n_nodes;
	const struct stack_tree_node *nodes = stack_tree_nodes(f->tree, &n_nodes);

	fprintf(out, "\"nodes\":{\"root\":[%" PRId64 ",%" PRId64 "]", nodes[0].self, nodes[0].base);
	for (size_t k = 0; k < (f->has_base ? 4 : 3); k++) {
		fprintf(out, ",\n\"%s\":[", keys[k]);
		for (size_t i = 0; i < n->order.n; i++) {
			fputs(i ? "," : "", out);
			write_node(n, &nodes[n->order.nodes[i]], n->order.depths[i], keys[k][0],
				   out);
		}
		fputc(']', out);
	}
	fputs("}}", out);
}

static void write_texts(const char *key, const char *const *texts, size_t n, FILE *out)
{
	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, texts[i]);
	}
	fputs("],\n", out);
}

/* When, for how long, and of what this is only a part. */
static void write_facts(const struct flame *f, const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	char when[64] = "", duration[48] = "";
	const char *facts[2];
	size_t n = 0;
	time_t seconds = (time_t)(p->time_ns / 1000000000);
	struct tm tm;

	if (p->time_ns > 0 && localtime_r(&seconds, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", &tm))
		facts[n++] = when;
	if (p->duration_ns > 0) {
		snprintf(duration, sizeof(duration), "over %.4g s", (double)p->duration_ns / 1e9);
		facts[n++] = duration;
	}
	write_texts("facts", facts, n, out);
	write_texts("filters", f->options.filters, f->options.n_filters, out);
	write_texts("notes", input->notes, input->n_notes, out);
	fputs("\"comments\":[", out);
	for (size_t i = 0; i < p->n_comments; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, profile_string(p, p->comments[i]));
	}
	fputs("],\n", out);
}

static void write_head(const struct flame *f, const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	const struct profile_value_type *type = &p->sample_types[input->type];
	const char *program = p->n_mappings ? node_name_base(profile_string(p, p->mappings[0].path))
					    : "";

	fputs("{\"title\":", out);
	json_text_write(out, *program ? program : "Profile");
	fputs(",\n\"type\":", out);
	json_text_write(out, profile_string(p, type->type));
	fputs(",\n\"unit\":", out);
	json_text_write(out, profile_string(p, type->unit));
	fputs(",\n\"shown_unit\":", out);
	json_text_write(out, f->options.unit ? f->options.unit : "auto");
	fprintf(out, ",\n\"divide_by\":%.17g,\n\"total\":%" PRId64 ",\n", f->options.divide_by,
		input->total);
	write_facts(f, input, out);
}

static int flame_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		     struct profile_message *message)
{
	struct flame *f = (struct flame *)view;
	struct flame_numbers numbers = {0};
	int r = stack_tree_shrink(f->tree, FLAME_NODES_MAX);

	(void)message;
	if (!r)
		r = numbers_init(&numbers, f, input);
	if (!r) {
		fwrite(flame_page_head, 1, flame_page_head_length, out);
		write_head(f, input, out);
		r = write_frames(&numbers, input, out);
	}
	if (!r) {
		write_nodes(f, &numbers, out);
		fwrite(flame_page_tail, 1, flame_page_tail_length, out);
		*ret_again = false;
	}
	numbers_deinit(&numbers);
	return r;
}

const struct view_class view_flame = {
	.name = "flame",
	.make = flame_make,
	.add = flame_add,
	.end = flame_end,
	.destroy = flame_destroy,
};
