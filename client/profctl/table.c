/* SPDX-License-Identifier: MIT */
/* Cells are kept as texts, row by row, until all are there: only then it is known how wide a column
 * is. */
#include "client/profctl/table.h"

#include <errno.h>
#include <stdarg.h>

#include "common/error.h"
#include "common/room.h"
#include "common/utf8.h"

void print_safely(FILE *out, const char *text)
{
	utf8_write_harmless(out, text, "");
}

void table_deinit(struct table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
}

void table_cell(struct table *t, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0 || room_make(&t->cells, &t->capacity, t->n_cells + 1, sizeof(*t->cells))) {
		if (n >= 0)
			free(text);
		t->incomplete = true;
		return;
	}
	t->cells[t->n_cells++] = text;
}

static int column_width(const struct table *t, size_t n_columns, size_t column)
{
	int width = (int)utf8_length(t->columns[column] + (*t->columns[column] == '>'));

	for (size_t i = column; i < t->n_cells; i += n_columns) {
		int w = (int)utf8_length(t->cells[i]);

		width = w > width ? w : width;
	}
	return width;
}

static void print_cell(const struct table *t, size_t column, int width, const char *text, FILE *out)
{
	bool right = *t->columns[column] == '>', last = !t->columns[column + 1];
	int blanks = width - (int)utf8_length(text);

	if (right)
		fprintf(out, "%*s", blanks, "");
	print_safely(out, text);
	if (!right && !last)
		fprintf(out, "%*s", blanks, "");
	fputs(last ? "\n" : "  ", out);
}

int table_print(const struct table *t, FILE *out)
{
	cleanup(freep) int *widths = NULL;
	size_t n = 0;

	while (t->columns[n])
		n++;
	widths = calloc(n, sizeof(*widths));
	if (!widths || t->incomplete)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		widths[i] = column_width(t, n, i);
	for (size_t i = 0; i < n; i++)
		print_cell(t, i, widths[i], t->columns[i] + (*t->columns[i] == '>'), out);
	for (size_t i = 0; i < t->n_cells; i++)
		print_cell(t, i % n, widths[i % n], t->cells[i], out);
	return 0;
}
