/* SPDX-License-Identifier: MIT */
#include "client/report/listener.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

void listener_note(const struct listener *l, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list args;

	if (!l->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	l->note(l->context, text);
}
