/* SPDX-License-Identifier: MIT */
/* Cells are kept as texts, row by row, until all are there: only then it is known how wide a column
 * is. */
#include "client/profctl/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"
#include "common/utf8.h"

#define CUT_LEAST 16 /* characters of a column that is cut, where others can be left out */

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

static const char *table_heading(const struct table *t, size_t column)
{
	return t->columns[column] + (strchr(">~", *t->columns[column]) != NULL);
}

static int column_width(const struct table *t, size_t n_columns, size_t column)
{
	int width = (int)utf8_length(table_heading(t, column));

	for (size_t i = column; i < t->n_cells; i += n_columns) {
		int w = (int)utf8_length(t->cells[i]);

		width = w > width ? w : width;
	}
	return width;
}

/* Behind the first @n characters of @text. */
static const char *table_skip(const char *text, int n)
{
	for (; *text && (n > 0 || (*text & 0xc0) == 0x80); text++)
		n -= (text[1] & 0xc0) != 0x80;
	return text;
}

static void table_print_cut(const char *text, int length, int width, bool in_front, FILE *out)
{
	cleanup(freep) char *copy = NULL;

	if (length <= width) {
		print_safely(out, text);
	} else if (in_front) {
		fputc('~', out);
		print_safely(out, table_skip(text, length - width + 1));
	} else {
		copy = strndup(text, (size_t)(table_skip(text, width - 1) - text));
		print_safely(out, copy ? copy : "");
		fputc('~', out);
	}
}

static void print_cell(const struct table *t, size_t column, int width, const char *text, FILE *out)
{
	bool right = *t->columns[column] == '>', last = !t->columns[column + 1];
	int length = (int)utf8_length(text), blanks = length < width ? width - length : 0;

	if (width) {
		fprintf(out, "%s%*s", column ? "  " : "", right ? blanks : 0, "");
		table_print_cut(text, length, width, last, out);
	}
	if (last)
		fputc('\n', out);
	else if (!right)
		fprintf(out, "%*s", blanks, "");
}

static int table_sum(const int *widths, size_t n)
{
	int sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += widths[i] ? widths[i] + 2 : 0;
	return sum - 2;
}

/*
 * What is too much for the terminal the columns give that may be cut; rather than to cut them short
 * the last ones of the others are left out, but for the first two columns: their widths become 0.
 */
static void table_fit(const struct table *t, size_t n, int *widths)
{
	int cut = 0, over = t->max ? table_sum(widths, n) - (int)t->max : 0;

	for (size_t i = 0; i < n && over > 0; i++)
		cut += *t->columns[i] == '~' && widths[i] > CUT_LEAST ? widths[i] - CUT_LEAST : 0;
	for (size_t i = n; i-- > 2 && over > cut;) {
		if (*t->columns[i] == '~')
			continue;
		over -= widths[i] + 2;
		widths[i] = 0;
	}
	for (size_t i = 0; i < n && over > 0; i++) {
		int before = widths[i], heading = (int)strlen(table_heading(t, i));

		if (*t->columns[i] != '~')
			continue;
		widths[i] = before - over > heading ? before - over : heading;
		over -= before - widths[i];
	}
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
	table_fit(t, n, widths);
	for (size_t i = 0; i < n; i++)
		print_cell(t, i, widths[i], table_heading(t, i), out);
	for (size_t i = 0; i < t->n_cells; i++)
		print_cell(t, i % n, widths[i % n], t->cells[i], out);
	return 0;
}
