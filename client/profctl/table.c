/* SPDX-License-Identifier: MIT */
#include "client/profctl/table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "common/error.h"

struct table {
	const char *const *columns;
	size_t n_columns, n_cells, capacity;
	char **cells;
	bool incomplete;
};

/* Bytes 0x80 to 0x9f begin no character of UTF-8, and alone some terminals obey them (C1). */
void print_safely(FILE *out, const char *text)
{
	bool in_character = false;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool bad = c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0 && !in_character) ||
			   /* C1 in UTF-8: c2 80 to c2 9f */
			   (c == 0xc2 && (unsigned char)text[1] < 0xa0);

		fputc(bad ? '?' : c, out);
		in_character = !bad && c >= 0x80;
	}
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
	if (t->n_cells == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 64;
		char **cells = reallocarray(t->cells, capacity, sizeof(*cells));

		if (!cells) {
			free(text);
			t->incomplete = true;
			return;
		}
		t->cells = cells;
		t->capacity = capacity;
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
