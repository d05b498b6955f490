/* SPDX-License-Identifier: MIT */
#include "common/help.h"

#include <stdbool.h>
#include <string.h>

struct help {
	FILE *out;
	size_t column;
};

/* Adds the words of @line; those that do not fit continue at column @indent. */
static void help_fill(struct help *h, const char *line, size_t length, size_t indent)
{
	size_t word;

	for (size_t at = 0; at < length; at += word) {
		size_t blanks = strspn(line + at, " ");

		at += blanks;
		word = strcspn(line + at, " \n");
		if (blanks == 0 && h->column > indent)
			blanks = 1;
		if (h->column > indent && h->column + blanks + word > HELP_COLUMNS) {
			fprintf(h->out, "\n%*s", (int)indent, "");
			h->column = indent;
			blanks = 0;
		}
		fprintf(h->out, "%*s%.*s", (int)blanks, "", (int)word, line + at);
		h->column += blanks + word;
	}
}

static void help_end_line(struct help *h)
{
	if (h->column > 0)
		fputc('\n', h->out);
	h->column = 0;
}

/* The column of the description in an option's line; of others, of their first word. */
static size_t help_indent(const char *line, size_t length)
{
	size_t first = strspn(line, " ");

	for (size_t at = first; at + 2 < length; at++)
		if (line[at] == ' ' && line[at + 1] == ' ')
			return at + strspn(line + at, " ");
	return first;
}

void help_print(FILE *out, const char *text)
{
	struct help h = {.out = out};
	size_t length;

	for (; *text; text += length + (text[length] == '\n')) {
		bool is_row = *text == ' ';

		length = strcspn(text, "\n");
		if (is_row || length == 0)
			help_end_line(&h);
		help_fill(&h, text, length, is_row ? help_indent(text, length) : 0);
		if (is_row)
			help_end_line(&h);
		else if (length == 0)
			fputc('\n', out);
	}
	help_end_line(&h);
}
