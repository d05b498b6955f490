/* SPDX-License-Identifier: MIT */
/*
 * --disasm: the instructions of functions whose names match, each with what it weighs, as pprof has
 * them. A function is one of the program's symbols, with all that is inlined in it; addresses are
 * those of the program's file.
 */
#include <inttypes.h>
#include <string.h>

#include "client/report/code_symbols.h"

#define TEXT_COLUMN 40

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "function file:line", "" where it is as before. */
static void print_place(char *ret, size_t size, const struct code_symbol *symbol,
			const struct code_list *list, const struct code_row *row,
			const struct code_row *last)
{
	const char *file = last_part(code_list_text(list, row->file));

	*ret = '\0';
	if (last && last->line == row->line &&
	    strcmp(last_part(code_list_text(list, last->file)), file) == 0)
		return;
	if (row->line)
		snprintf(ret, size, "%s %s:%" PRIu32, symbol->name, file, row->line);
	else
		snprintf(ret, size, "%s %s", symbol->name, file);
}

static void print_row(FILE *out, const struct values *values, const struct code_row *row,
		      const char *text, const struct code_spot *sum, const char *place)
{
	char flat[MEASURE_TEXT_MAX], cum[MEASURE_TEXT_MAX];
	bool is_short = strlen(text) < TEXT_COLUMN;

	if (*place && !is_short) {
		fprintf(out, "%74s;", "");
		code_view_source(out, place);
		fputc('\n', out);
	}
	fprintf(out, "%10s %10s %10" PRIx64 ": ",
		code_view_value(values, flat, graph_mean(sum->flat, sum->flat_divisor)),
		code_view_value(values, cum, graph_mean(sum->cum, sum->cum_divisor)), row->address);
	code_view_source(out, text);
	if (*place && is_short) {
		fprintf(out, "%*s;", TEXT_COLUMN - (int)strlen(text), "");
		code_view_source(out, place);
	}
	fputc('\n', out);
}

static void print_rows(FILE *out, const struct code_symbols *s, const struct values *values,
		       const struct code_symbol *symbol, const struct code_list *list)
{
	const struct code_spot *spot = &s->spots[symbol->first], *end = spot + symbol->n;
	char place[512];

	for (size_t i = 0; i < list->n; i++) {
		const struct code_row *row = &list->rows[i];
		struct code_spot sum = {0};

		for (; spot < end && spot->address < row->address + row->size; spot++) {
			sum.flat = graph_add_clamped(sum.flat, spot->flat);
			sum.flat_divisor = graph_add_clamped(sum.flat_divisor, spot->flat_divisor);
			sum.cum = graph_add_clamped(sum.cum, spot->cum);
			sum.cum_divisor = graph_add_clamped(sum.cum_divisor, spot->cum_divisor);
		}
		print_place(place, sizeof(place), symbol, list, row, i ? &list->rows[i - 1] : NULL);
		print_row(out, values, row, code_list_text(list, row->text), &sum, place);
	}
}

static int print_symbol(FILE *out, const struct code_view *v, const struct view_input *input,
			const struct values *values, const struct code_symbols *s,
			const struct code_symbol *symbol)
{
	cleanup(code_list_deinit) struct code_list list = {0};
	int64_t flat = 0, cum = 0;
	int r = code_symbols_list(symbol, v, &list);

	if (r)
		return r;
	for (size_t i = symbol->first; i < symbol->first + symbol->n; i++) {
		flat = graph_add_clamped(flat, s->spots[i].flat);
		cum = graph_add_clamped(cum, s->spots[i].cum);
	}
	fputs("ROUTINE ======================== ", out);
	code_view_source(out, symbol->name);
	fputc('\n', out);
	code_view_sums(out, input, values, flat, cum);
	if (!list.n)
		fputs(" Error: its instructions cannot be read\n", out);
	print_rows(out, s, values, symbol, &list);
	return 0;
}

static int disasm_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		      struct profile_message *message)
{
	struct code_view *v = (struct code_view *)view;
	cleanup(code_symbols_deinit) struct code_symbols symbols = {0};
	struct values values;
	int r = graph_end(v->graph, input, ret_again);

	if (r || *ret_again)
		return r;
	r = code_view_open(v);
	if (!r)
		r = code_symbols_init(&symbols, v, input, false);
	if (r)
		return r;
	if (!symbols.n_symbols)
		return code_view_no_match(v, message);
	values_init(&values, input, &v->options);
	code_view_total(out, input, &values);
	for (size_t i = 0; !r && i < symbols.n_symbols; i++)
		r = print_symbol(out, v, input, &values, &symbols, &symbols.symbols[i]);
	return r;
}

static int disasm_make(struct view **ret, const struct view_options *options,
		       struct profile_message *message)
{
	return code_view_make(ret, &view_disasm, options, message);
}

const struct view_class view_disasm = {
	.name = "disasm",
	.wants_addresses = true,
	.make = disasm_make,
	.add = code_view_add,
	.end = disasm_end,
	.destroy = code_view_destroy,
};
