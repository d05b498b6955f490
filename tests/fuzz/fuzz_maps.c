/* SPDX-License-Identifier: MIT */
/* Any text as /proc/PID/maps. */
#include <stdint.h>
#include <stdlib.h>

#include "common/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;
	struct maps_line line;

	for (; text < end; text += line.length + 1)
		if (maps_parse(text, end, &line) &&
		    (line.start >= line.end || line.path + line.path_length != text + line.length))
			abort();
	return 0;
}
