/* SPDX-License-Identifier: MIT */
/* Cells are kept as texts, row by row, until all are there: only then it is known how wide a column
 * is. */
#include "client/profctl/table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"
#include "common/utf8.h"

struct table {
	const char *const *columns;
	size_t n_columns, n_cells, capacity;
	char **cells;
	bool incomplete;
};

void print_safely(FILE *out, const char *text)
{
	utf8_write_harmless(out, text, "");
}

int table_new(struct table **ret, const char *const *columns)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return error_origin(-ENOMEM);
	t->columns = columns;
	while (columns[t->n_columns])
		t->n_columns++;
	*ret = t;
	return 0;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

void table_cell(struct table *t, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		t->incomplete = true;
		return;
	}
	if (room_make(&t->cells, &t->capacity, t->n_cells + 1, sizeof(*t->cells))) {
		free(text);
		t->incomplete = true;
		return;
	}
	t->cells[t->n_cells++] = text;
}

/* Characters, as far as UTF-8's lead bytes tell. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int column_width(const struct table *t, size_t column)
{
	int width = width_of(t->columns[column] + (*t->columns[column] == '>'));

	for (size_t i = column; i < t->n_cells; i += t->n_columns) {
		int w = width_of(t->cells[i]);

		width = w > width ? w : width;
	}
	return width;
}

static void print_cell(const struct table *t, size_t column, int width, const char *text, FILE *out)
{
	bool right = *t->columns[column] == '>', last = column + 1 == t->n_columns;
	int blanks = width - width_of(text);

	if (right)
		fprintf(out, "%*s", blanks, "");
	print_safely(out, text);
	if (!right && !last)
		fprintf(out, "%*s", blanks, "");
	fputs(last ? "\n" : "  ", out);
}

int table_print(const struct table *t, FILE *out)
{
	cleanup(freep) int *widths = calloc(t->n_columns, sizeof(*widths));

	if (!widths || t->incomplete)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < t->n_columns; i++)
		widths[i] = column_width(t, i);
	for (size_t i = 0; i < t->n_columns; i++)
		print_cell(t, i, widths[i], t->columns[i] + (*t->columns[i] == '>'), out);
	for (size_t i = 0; i < t->n_cells; i++)
		print_cell(t, i % t->n_columns, widths[i % t->n_columns], t->cells[i], out);
	return 0;
}
