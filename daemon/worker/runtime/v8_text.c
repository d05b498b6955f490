/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/v8_text.h"

#include <string.h>

#define NAMELESS "(anonymous)"
#define FILE_URL "file://"

_Static_assert(sizeof(NAMELESS) <= V8_TEXT_MIN, "room");

void v8_text_fit(char *name, char *file)
{
	size_t n = strlen(FILE_URL);

	if (!*name)
		memcpy(name, NAMELESS, sizeof(NAMELESS));
	if (!strncmp(file, FILE_URL "/", n + 1))
		memmove(file, file + n, strlen(file + n) + 1);
}
