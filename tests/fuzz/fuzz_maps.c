/* SPDX-License-Identifier: MIT */

/* Any text as /proc/PID/maps and /proc/PID/stat. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/resolve/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps_reader reader;
	struct maps_line line;
	struct maps_stat stat;

	maps_reader_init(&reader, (const char *)data, size);
	while (maps_reader_next(&reader, &line))
		if (line.start >= line.end || !(line.prot & PROT_EXEC) ||
		    !memchr(line.path, '\0', sizeof(line.path)))
			abort();
	if (reader.position != size)
		abort();
	if (maps_parse_stat((const char *)data, size, &stat) == MAPS_E_OK &&
	    (stat.pid < 0 || !memchr(stat.comm, '\0', sizeof(stat.comm))))
		abort();
	return 0;
}
