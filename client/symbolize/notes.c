/* SPDX-License-Identifier: MIT */
#include "client/symbolize/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void notes_deinit(struct notes *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		free(notes->lines[i]);
	*notes = (struct notes){0};
}

void notes_add(struct notes *notes, const char *format, ...)
{
	char text[NOTES_TEXT_MAX];
	va_list args;
	char *line;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < notes->n; i++)
		if (strcmp(notes->lines[i], text) == 0)
			return;
	line = notes->n < NOTES_MAX ? strdup(text) : NULL;
	if (line)
		notes->lines[notes->n++] = line;
	else
		notes->n_more++;
}

void notes_add_first(struct notes *notes, const char *text)
{
	char *line = strdup(text);

	if (!line || notes->n == NOTES_MAX)
		notes->n_more++;
	if (!line)
		return;
	if (notes->n == NOTES_MAX)
		free(notes->lines[--notes->n]);
	memmove(notes->lines + 1, notes->lines, notes->n++ * sizeof(*notes->lines));
	notes->lines[0] = line;
}
