/* SPDX-License-Identifier: MIT */
/*
 * --disasm: the instructions of functions whose names match, each with what it weighs, as pprof has
 * them. A function is one of the program's symbols, with all that is inlined in it; addresses are
 * those of the program's file.
 */
#include <inttypes.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/code/code_symbols.h"

#define TEXT_AT     34 /* where instructions begin */
#define TEXT_COLUMN 40 /* and where, from there, lines do */

/* What is needed while writing. */
struct writer {
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

static void disasm_print_row(const struct writer *w, const struct code_symbol *symbol,
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

static void disasm_print_rows(const struct writer *w, const struct code_symbol *symbol,
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

static int disasm_print_symbol(const struct writer *w, const struct code_symbol *symbol)
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
	struct writer w = {.out = out, .view = v, .input = input, .symbols = &symbols};
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
