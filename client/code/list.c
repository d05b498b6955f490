/* SPDX-License-Identifier: MIT */
/*
 * --list: the source lines of functions whose names match, each with what it weighs, as pprof has
 * them: from the function's first line, or some lines before the first one with samples, to some
 * behind the last.
 *
 * --disasm: the instructions of functions whose names match, in the same way. A function is one of
 * the program's symbols, with all that is inlined in it; addresses are those of the program's file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "client/code/code_symbols.h"
#include "client/code/code_view.h"
#include "client/code/source_file.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"

/* A line of a function. */
struct spot {
	const char *name, *file;
	int64_t line, start_line, flat, cum;
};

DEFINE_ORDER(list_compare_spots, struct spot, strcmp(x->name, y->name)
		?: strcmp(x->file, y->file)
		?: order_of(x->line, y->line))

static int list_collect_spots(const struct code_view *v, const struct view_input *input,
			      struct spot **ret, size_t *ret_n)
{
	const struct graph *g = v->view.graph;
	struct spot *spots = calloc(g->n_order + 1, sizeof(*spots));
	size_t n = 0;

	if (!spots)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		const struct frame *info = graph_frame(g, g->order[i]);
		const char *name = profile_string(input->profile, info->name);

		if (!regex_matches(v->regex, name))
			continue;
		spots[n++] = (struct spot){
			.name = name,
			.file = profile_string(input->profile, info->filename),
			.line = info->line,
			.start_line = info->start_line,
			/* With means, too, pprof tells sums here. */
			.flat = node->flat.value,
			.cum = node->cum.value,
		};
	}
	if (n)
		qsort(spots, n, sizeof(*spots), list_compare_spots);
	*ret = spots;
	*ret_n = n;
	return 0;
}

/* What a range of spots weighs. */
static struct spot list_sum_spots(const struct spot *spots, size_t n)
{
	struct spot sum = {.name = spots->name, .file = spots->file};

	for (size_t i = 0; i < n; i++) {
		sum.flat = graph_add_clamped(sum.flat, spots[i].flat);
		sum.cum = graph_add_clamped(sum.cum, spots[i].cum);
	}
	return sum;
}

/* The lines to show of @n spots, ordered by their lines. */
static void find_range(const struct spot *spots, size_t n, int64_t *ret_start, int64_t *ret_end)
{
	*ret_start = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		int64_t start = source_lines_from(spots[i].line, spots[i].start_line);

		*ret_start = start < *ret_start ? start : *ret_start;
	}
	*ret_end = source_lines_until(spots[n - 1].line);
}

static void print_lines(FILE *out, const struct values *values, const struct source_file *file,
			const struct spot *spots, size_t n)
{
	int64_t line, end;
	size_t at = 0;

	find_range(spots, n, &line, &end);
	for (; line <= end && line <= (int64_t)file->n_lines; line++) {
		size_t first;
		struct spot sum;

		while (at < n && spots[at].line < line)
			at++;
		for (first = at; at < n && spots[at].line == line;)
			at++;
		sum = at > first ? list_sum_spots(&spots[first], at - first) : (struct spot){0};
		code_view_print_values(out, values, sum.flat, sum.cum);
		fprintf(out, " %6" PRId64 ":", line);
		code_view_print_source(out, source_file_line(file, (uint64_t)line));
		fputc('\n', out);
	}
}

/* A function in one file. */
static int print_routine(FILE *out, const struct view_input *input, const struct values *values,
			 struct source_files *sources, const struct spot *spots, size_t n)
{
	struct spot sum = list_sum_spots(spots, n);
	const struct source_file *file;
	int r;

	if (!*sum.file) {
		fputs("No source information for ", out);
		code_view_print_source(out, sum.name);
		fputc('\n', out);
		return 0;
	}
	code_view_print_routine(out, input, values, sum.name, sum.file, sum.flat, sum.cum);
	r = source_files_get(sources, sum.file, &file);
	if (r)
		return r;
	if (file->why)
		fprintf(out, " Error: source file: %s\n", file->why);
	else
		print_lines(out, values, file, spots, n);
	return 0;
}

static int list_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct code_view *v = (struct code_view *)view;
	cleanup(source_files_freep) struct source_files *sources = NULL;
	cleanup(freep) struct spot *spots = NULL;
	struct values values;
	size_t n = 0;
	int r = list_collect_spots(v, input, &spots, &n);
	if (!r && !n)
		return code_view_no_match(v);
	r = r ?: objects_new(&v->objects, input->profile) ?: code_view_sources(v, &sources);
	if (r)
		return r;
	values_init(&values, input, &v->view.options);
	code_view_print_total(out, input, &values);
	for (size_t i = 0, end; !r && i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(spots[end].name, spots[i].name) &&
				  !strcmp(spots[end].file, spots[i].file);)
			end++;
		/* pprof tells that there is no source only where there is none at all. */
		if (*spots[i].file || end == n || strcmp(spots[end].name, spots[i].name) != 0)
			r = print_routine(out, input, &values, sources, spots + i, end - i);
	}
	return r;
}

const struct view_class view_list = {
	.name = "list",
	.size = sizeof(struct code_view),
	.graph = CODE_VIEW_GRAPH,
	.init = code_view_init,
	.end = list_end,
	.deinit = code_view_deinit,
};

/* --- instructions ----------------------------------------------------------------------------- */

#define TEXT_AT     34 /* where instructions begin */
#define TEXT_COLUMN 40 /* and where, from there, lines do */

/* What is needed while writing. */
struct list_writer {
	FILE *out;
	const struct code_view *view;
	const struct view_input *input;
	struct values values;
	const struct code_symbols *symbols;
};

/* Whether the line is another one than that of the row before. */
static bool has_new_place(const struct code_list *list, size_t i)
{
	const struct code_row *row = &list->rows[i], *last = row - 1;

	return !i || last->line != row->line ||
	       strcmp(node_name_base(last->file), node_name_base(row->file)) != 0;
}

/* ";function file:line" */
static void disasm_print_place(FILE *out, int column, const struct code_symbol *symbol,
			       const struct code_row *row)
{
	fprintf(out, "%*s;", column, "");
	code_view_print_source(out, symbol->name);
	fputc(' ', out);
	code_view_print_source(out, node_name_base(row->file));
	if (row->line)
		fprintf(out, ":%" PRIu32, row->line);
}

static void disasm_print_row(const struct list_writer *w, const struct code_symbol *symbol,
			     const struct code_list *list, size_t i, const struct code_spot *sum)
{
	const struct code_row *row = &list->rows[i];
	const char *text = row->text;
	bool is_new = has_new_place(list, i), is_short = strlen(text) < TEXT_COLUMN;

	if (is_new && !is_short) {
		disasm_print_place(w->out, TEXT_AT + TEXT_COLUMN, symbol, row);
		fputc('\n', w->out);
	}
	code_view_print_values(w->out, &w->values, graph_mean(sum->flat), graph_mean(sum->cum));
	fprintf(w->out, " %10" PRIx64 ": ", row->address);
	code_view_print_source(w->out, text);
	if (is_new && is_short)
		disasm_print_place(w->out, TEXT_COLUMN - (int)strlen(text), symbol, row);
	fputc('\n', w->out);
}

static void disasm_print_rows(const struct list_writer *w, const struct code_symbol *symbol,
			      const struct code_list *list)
{
	const struct code_spot *spot = &w->symbols->spots[symbol->first], *end = spot + symbol->n;

	for (size_t i = 0; i < list->n; i++) {
		const struct code_row *row = &list->rows[i];
		struct code_spot sum = {0};

		for (; spot < end && spot->address < row->address + row->size; spot++) {
			graph_sum_add(&sum.flat, &spot->flat);
			graph_sum_add(&sum.cum, &spot->cum);
		}
		disasm_print_row(w, symbol, list, i, &sum);
	}
}

static int disasm_print_symbol(const struct list_writer *w, const struct code_symbol *symbol)
{
	cleanup(code_list_deinit) struct code_list list = {0};
	struct graph_sum flat = {0}, cum = {0};
	int r = code_symbols_list(symbol, w->view, &list);

	if (r)
		return r;
	for (size_t i = symbol->first; i < symbol->first + symbol->n; i++) {
		graph_sum_add(&flat, &w->symbols->spots[i].flat);
		graph_sum_add(&cum, &w->symbols->spots[i].cum);
	}
	code_view_print_routine(w->out, w->input, &w->values, symbol->name, NULL, flat.value,
				cum.value);
	if (!list.n)
		fputs(" Error: its instructions cannot be read\n", w->out);
	disasm_print_rows(w, symbol, &list);
	return 0;
}

static int disasm_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct code_view *v = (struct code_view *)view;
	cleanup(code_symbols_deinit) struct code_symbols symbols = {0};
	struct list_writer w = {.out = out, .view = v, .input = input, .symbols = &symbols};
	int r = objects_new(&v->objects, input->profile)
			?: code_symbols_init(&symbols, v, input, false);
	if (r)
		return r;
	if (!symbols.n_symbols)
		return code_view_no_match(v);
	values_init(&w.values, input, &v->view.options);
	code_view_print_total(out, input, &w.values);
	for (size_t i = 0; !r && i < symbols.n_symbols; i++)
		r = disasm_print_symbol(&w, &symbols.symbols[i]);
	code_view_print_missing(v, out);
	return r;
}

const struct view_class view_disasm = {
	.name = "disasm",
	.wants_addresses = true,
	.size = sizeof(struct code_view),
	.graph = CODE_VIEW_GRAPH,
	.init = code_view_init,
	.end = disasm_end,
	.deinit = code_view_deinit,
};
