/* SPDX-License-Identifier: MIT */

/* Any text as /proc/PID/cgroup, whatever service is looked for: what was found is in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/profctl/services.h"
#include "common/cleanup.h"
#include "common/store/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char buffer[NEAREST_MAX * (NEAREST_NAME_SIZE + 4) + 32];
	cleanup(freep) char *text = malloc(size + 1);
	struct services_search search = {0};
	char *groups;

	if (!text || size < 2)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* The first line is what is asked for. */
	groups = strchr(text, '\n');
	if (!groups)
		return 0;
	*groups++ = '\0';
	search.nearest.asked = text;
	services_add_groups(&search, groups);
	if (search.is_found && !names_is_pattern(text) && !strstr(groups, text))
		abort();
	for (size_t i = 0; i < search.nearest.n; i++)
		if (!strstr(groups, search.nearest.names[i]))
			abort();
	nearest_print(&search.nearest, buffer, sizeof(buffer));
	return 0;
}
