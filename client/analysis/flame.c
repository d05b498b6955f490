/* SPDX-License-Identifier: MIT */
/*
 * --flame: the stacks as one HTML page that draws them, and needs nothing else: no network, no
 * other file. What is in the page is the tree of stacks with the values of each node; how it looks
 * is flame/.
 *
 * Stacks that are labelled pprof::base=true, as pprof labels what --diff_base takes away, are what
 * the others are compared with: their values, which are negative there, become the nodes' base, and
 * colours tell what changed. Values that are negative otherwise (--base) are told as they are, but
 * have no width.
 *
 * The page tells files, lines and modules of frames as far as frames tell them: the caller shapes
 * stacks with objects (shape_options.with_objects, and of two builds .compares). Of options matter
 * `unit` ("auto" and "minimum" let the page choose), `divide_by` and `filters`; means are not
 * drawn, since they do not add up.
 *
 * A profile of several sample types shows the one of view_input.type, and lets its reader go to the
 * others, unless options.one_type. Which boxes are kept, and are first, depends on the former.
 *
 * Limits: FLAME_NODES_MAX boxes; the lightest beyond them are told as one grey box below their
 * caller, with their sum. FLAME_TYPES_MAX sample types, and fewer of them where they would have
 * more values than FLAME_OTHERS_MAX.
 *
 * What the page holds, as flame/data.js takes it: nodes in stack_tree_order(), four arrays of
 * numbers; frames numbered as they come there, and texts interned, so that numbers are short.
 * Values of other types than the chosen one stand apart from them, for those nodes alone that have
 * any: mostly the ends of stacks, one in ten.
 */
#include "client/analysis/flame.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"
#include "client/analysis/title.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/profile/windows.h"

#define FLAME_NODES_MAX  ((size_t)1 << 20) /* some 15 bytes of the page each */
#define FLAME_TYPES_MAX  8
#define FLAME_OTHERS_MAX ((size_t)1 << 19) /* some 10 bytes each */

#define PREFIX         "# profd "
#define NAME_MAX_BYTES 24
#define COMMENTS_MAX   1000 /* that are told: more are not for people to read */

struct flame {
	/* Its tree is there from the first stack on: of each type the value and that of its base.
	 */
	struct view view;
	unsigned types[FLAME_TYPES_MAX]; /* of the profile's; the chosen one first */
	unsigned n_types;
	bool has_base;
};

/* What is written, with the page's own numbers of frames and texts. */
struct flame_page {
	const struct flame *f;
	const struct view_input *input;
	FILE *out;
	struct frame_names names; /* with the nodes in their order */
	uint32_t *frames;         /* by number */
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

static int flame_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct flame *f = (struct flame *)view;
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
	return stack_tree_add(f->view.tree, STACK_TREE_NO_GROUP, stack, values);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void flame_page_deinit(struct flame_page *p)
{
	frame_names_deinit(&p->names);
	profile_free(p->texts);
	free(p->frames);
}

static int flame_page_init(struct flame_page *p)
{
	int r = frame_names_init(&p->names, p->input, p->f->view.tree) ?: profile_new(&p->texts);

	if (r)
		return r;
	p->frames = calloc(p->names.n + 1, sizeof(*p->frames));
	if (!p->frames)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->names.order.n; i++) {
		uint32_t frame = p->names.order.all[i].node->frame;

		if (frame == STACK_TREE_CUT || p->names.numbers[frame] != PROFILE_NONE)
			continue;
		p->names.numbers[frame] = (uint32_t)p->n_frames;
		p->frames[p->n_frames++] = frame;
	}
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* @key: "name", "file" or "module" */
static int flame_write_frame_texts(struct flame_page *p, const char *key)
{
	fprintf(p->out, "\"%s\":[", key);
	for (size_t i = 0; i < p->n_frames; i++) {
		const struct frame *frame = &p->input->frames[p->frames[i]];
		uint32_t text;
		int r = profile_add_text(p->texts,
					 *key == 'n' ? p->names.texts.all[p->frames[i]]
						     : profile_string(p->input->profile,
								      *key == 'f' ? frame->filename
										  : frame->object),
					 &text);

		if (r)
			return r;
		fprintf(p->out, "%s%" PRIu32, i ? "," : "", text);
	}
	fputs("],", p->out);
	return 0;
}

/* Frames, and then the texts that they name by number. */
static int flame_write_frames(struct flame_page *p)
{
	static const char *const keys[] = {"name", "file", "module"};
	const struct frame *frames = p->input->frames;
	bool by_line = false, by_column = false;
	int r = 0;

	fputs("\"frames\":{", p->out);
	for (size_t i = 0; i < ARRAY_SIZE(keys) && !r; i++)
		r = flame_write_frame_texts(p, keys[i]);
	if (r)
		return r;
	fputs("\"line\":[", p->out);
	for (size_t i = 0; i < p->n_frames; i++) {
		int64_t line = frames[p->frames[i]].line;

		by_line |= line != 0;
		by_column |= frames[p->frames[i]].column != 0;
		fprintf(p->out, "%s%" PRId64, i ? "," : "", line);
	}
	if (by_column)
		fputs("],\"column\":[", p->out);
	for (size_t i = 0; by_column && i < p->n_frames; i++)
		fprintf(p->out, "%s%" PRId32, i ? "," : "", frames[p->frames[i]].column);
	fprintf(p->out, "]},\n\"by_line\":%s,\n\"strings\":[", by_line ? "true" : "false");
	for (uint32_t i = 0; i < profile_n_strings(p->texts); i++) {
		fputs(i ? "," : "", p->out);
		json_text_write(p->out, profile_string(p->texts, i));
	}
	fputs("],\n", p->out);
	return 0;
}

static bool flame_has_other_values(const struct flame *f, const struct stack_tree_node *node)
{
	for (unsigned i = 2; node->values && i < f->n_types * 2; i++)
		if (stack_tree_value(f->view.tree, node, i))
			return true;
	return false;
}

/* "key": the @value'th of all nodes, or of those that have values of other types. */
static void flame_write_values(const struct flame_page *p, const char *key, unsigned value,
			       bool of_all)
{
	const char *separator = "";

	fprintf(p->out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < p->names.order.n; i++) {
		const struct stack_tree_node *node = p->names.order.all[i].node;

		if (!of_all && !flame_has_other_values(p->f, node))
			continue;
		fprintf(p->out, "%s%" PRId64, separator,
			stack_tree_value(p->f->view.tree, node, value));
		separator = ",";
	}
	fputc(']', p->out);
}

/* Of the @type'th of the page's types: what ends at the root, and all nodes. */
static void flame_write_root(const struct flame_page *p, unsigned type)
{
	size_t n;
	const struct stack_tree_node *root = stack_tree_nodes(p->f->view.tree, &n);

	fprintf(p->out, "\"root\":[%" PRId64 ",%" PRId64 "]",
		stack_tree_value(p->f->view.tree, root, 2 * type),
		stack_tree_value(p->f->view.tree, root, 2 * type + 1));
}

static void flame_write_type_values(const struct flame_page *p, unsigned type)
{
	flame_write_values(p, "self", 2 * type, !type);
	if (p->f->has_base)
		flame_write_values(p, "base", 2 * type + 1, !type);
}

static void flame_write_nodes(const struct flame_page *p)
{
	const struct stack_tree_order *order = &p->names.order;

	fputs("\"nodes\":{", p->out);
	flame_write_root(p, 0);
	fputs(",\n\"depth\":[", p->out);
	for (size_t i = 0; i < order->n; i++)
		fprintf(p->out, "%s%" PRIu32, i ? "," : "", order->all[i].depth);
	fputs("],\n\"frame\":[", p->out);
	for (size_t i = 0; i < order->n; i++) {
		const struct stack_tree_node *node = order->all[i].node;

		fputs(i ? "," : "", p->out);
		if (node->frame == STACK_TREE_CUT)
			fputs("-1", p->out);
		else
			fprintf(p->out, "%" PRIu32,
				p->names.numbers[node->frame] * 2 + node->is_inlined);
	}
	fputc(']', p->out);
	flame_write_type_values(p, 0);
	fputc('}', p->out);
}

/* --- other types ------------------------------------------------------------------------------ */

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

static void flame_write_type(const struct profile *p, unsigned type, int64_t total, FILE *out)
{
	fprintf(out, "{\"index\":%u,\"type\":", type);
	json_text_write(out, profile_string(p, p->sample_types[type].type));
	fputs(",\"unit\":", out);
	json_text_write(out, profile_string(p, p->sample_types[type].unit));
	fprintf(out, ",\"total\":%" PRId64, total);
}

/* Which nodes have values, each counted from the one before, and those of each type. */
static void flame_write_other_types(const struct flame_page *p)
{
	const struct flame *f = p->f;
	const char *separator = "";
	size_t last = 0;

	if (f->n_types < 2)
		return;
	fputs(",\n\"others\":{\"at\":[", p->out);
	for (size_t i = 0; i < p->names.order.n; i++) {
		if (!flame_has_other_values(f, p->names.order.all[i].node))
			continue;
		fprintf(p->out, "%s%zu", separator, i - last);
		separator = ",";
		last = i;
	}
	fputs("],\n\"types\":[", p->out);
	for (unsigned i = 1; i < f->n_types; i++) {
		fputs(i > 1 ? ",\n" : "", p->out);
		flame_write_type(p->input->profile, f->types[i], p->input->totals[f->types[i]],
				 p->out);
		fputc(',', p->out);
		flame_write_root(p, i);
		flame_write_type_values(p, i);
		fputc('}', p->out);
	}
	fputs("]}", p->out);
}

/* --- what else there is to say ---------------------------------------------------------------- */

/*
 * Notes: what a profile says of itself, for people: which program, when, on which host, what was
 * lost. They are made of the profile's own fields and of the comments that profd writes, "# profd
 * name: value", whose names become headings, once for each value that files have. What others wrote
 * stands as it is, but for a '#' in front.
 */
struct flame_notes {
	FILE *out;
	bool any;
};

static void flame_notes_put(struct flame_notes *n, const char *heading, const char *text)
{
	fputs(n->any ? ",\n[" : "[", n->out);
	json_text_write(n->out, heading);
	fputc(',', n->out);
	json_text_write(n->out, text);
	fputc(']', n->out);
	n->any = true;
}

/* "name: value": the name, with a capital, is the heading. Without one, @otherwise has none. */
static void flame_notes_put_line(struct flame_notes *n, const char *line, const char *otherwise)
{
	char heading[NAME_MAX_BYTES + 1] = "";
	const char *colon = strstr(line, ": ");

	if (colon && colon > line && colon <= line + NAME_MAX_BYTES) {
		memcpy(heading, line, (size_t)(colon - line));
		heading[0] = (char)toupper((unsigned char)heading[0]);
		otherwise = colon + 2;
	}
	/* The version is not the program's. */
	if (*otherwise)
		flame_notes_put(n, strcmp(heading, "Version") == 0 ? "profd" : heading, otherwise);
}

static void flame_notes_put_program(struct flame_notes *n, const struct profile *p)
{
	if (!p->n_mappings)
		return;
	if (p->mappings[0].path)
		flame_notes_put(n, "Program", profile_string(p, p->mappings[0].path));
	if (p->mappings[0].build_id)
		flame_notes_put(n, "Build id", profile_string(p, p->mappings[0].build_id));
}

static void flame_notes_put_times(struct flame_notes *n, const struct profile *p)
{
	char range[TITLE_RANGE_MAX], duration[48];

	if (report_title_range(p, range))
		flame_notes_put(n, "Time", range);
	if (p->duration_ns > 0) {
		snprintf(duration, sizeof(duration), "%.4g s",
			 (double)p->duration_ns / (double)NS_PER_S);
		flame_notes_put(n, "Duration", duration);
	}
}

/* How many windows, where a file lists them, and from when to when. */
static int flame_notes_put_windows(struct flame_notes *n, const struct profile *p)
{
	struct profile_windows windows = {0};
	char from[64], to[64], text[192];
	int r = profile_windows_of(p, &windows);

	if (!r && windows.is_listed && windows.n &&
	    report_title_time(from, sizeof(from), windows.all[0].time_ns) &&
	    report_title_time(to, sizeof(to), windows.all[windows.n - 1].time_ns)) {
		snprintf(text, sizeof(text), "%zu, which began from %s to %s", windows.n, from, to);
		flame_notes_put(n, "Windows", text);
	}
	profile_windows_deinit(&windows);
	return r;
}

static void flame_notes_put_comment(struct flame_notes *n, const char *comment)
{
	const char *text = comment + strspn(comment, "# \t");

	if (profile_windows_is_line(comment))
		return; /* told as a whole */
	if (strncmp(comment, PREFIX, strlen(PREFIX)) == 0)
		flame_notes_put_line(n, comment + strlen(PREFIX), text);
	else if (*text)
		flame_notes_put(n, "", text);
}

static int flame_notes_put_losses(struct flame_notes *n, const struct view_input *input)
{
	cleanup(memory_text_deinit) struct memory_text line = {0};
	char *at, *rest;
	int r = memory_text_open(&line);

	if (r)
		return r;
	header_print_few(line.out, input);
	r = header_print_losses(line.out, input) ?: memory_text_close(&line);
	if (r)
		return r;
	for (at = strtok_r(line.text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
		flame_notes_put_line(n, at, at);
	return 0;
}

/* "notes":[["Heading","text"],...], "" for no heading. */
static int flame_write_notes(const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	struct flame_notes n = {.out = out};
	int r;

	fputs("\"notes\":[", out);
	for (size_t i = 0; i < input->n_notes; i++)
		flame_notes_put_line(&n, input->notes[i], input->notes[i]);
	if (!input->n_services)
		flame_notes_put_program(&n, p);
	flame_notes_put_times(&n, p);
	r = flame_notes_put_windows(&n, p) ?: flame_notes_put_losses(&n, input);
	for (size_t i = 0; i < p->n_comments && i < COMMENTS_MAX; i++)
		flame_notes_put_comment(&n, profile_string(p, p->comments[i]));
	fputc(']', out);
	return r;
}

static int flame_write_head(const struct flame *f, const struct view_input *input, FILE *out)
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
	json_text_write(out, f->view.options.unit ? f->view.options.unit : "auto");
	fprintf(out, ",\n\"divide_by\":%.17g,\n\"filters\":[", f->view.options.divide_by);
	for (size_t i = 0; i < f->view.options.n_filters; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, f->view.options.filters[i]);
	}
	fputs("],\n", out);
	r = flame_write_notes(input, out);
	fputs(",\n", out);
	return r;
}

static int flame_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct flame *f = (struct flame *)view;
	cleanup(flame_page_deinit) struct flame_page page = {.f = f, .input = input, .out = out};
	int r = flame_make_tree(f, input) ?:
		stack_tree_shrink(view->tree, FLAME_NODES_MAX) ?:
		flame_page_init(&page);

	if (r)
		return r;
	fwrite(flame_page_head, 1, flame_page_head_length, out);
	flame_fit_types(f);
	r = flame_write_head(f, input, out) ?: flame_write_frames(&page);
	if (r)
		return r;
	flame_write_nodes(&page);
	flame_write_other_types(&page);
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
