/* SPDX-License-Identifier: MIT */
#include "common/text_print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/room.h"

void texts_deinit(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
	*t = (struct texts){0};
}

int texts_add(struct texts *t, char *text)
{
	if (!text || room_make(&t->all, &t->max, t->n + 2, sizeof(*t->all))) {
		free(text);
		return error_origin(-ENOMEM);
	}
	t->all[t->n++] = text;
	t->all[t->n] = NULL;
	return 0;
}

int texts_printf(struct texts *t, const char *format, ...)
{
	va_list arguments;
	char *text;
	int r;

	va_start(arguments, format);
	r = vasprintf(&text, format, arguments);
	va_end(arguments);
	return texts_add(t, r < 0 ? NULL : text);
}

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void texts_sort(struct texts *t, size_t first)
{
	if (t->n > first)
		qsort(t->all + first, t->n - first, sizeof(*t->all), text_compare);
}
