/* SPDX-License-Identifier: MIT */

/* Any text as a mangled name; each of the languages' prefixes is tried before it, too, in
 * each style. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/worker/protocol.h"
#include "daemon/worker/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const prefixes[] = {"", "_Z", "_R", "_D"};
	char *name, *result;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		name = malloc(length + size + 1);
		if (!name)
			abort();
		memcpy(name, prefixes[i], length);
		memcpy(name + length, data, size);
		name[length + size] = '\0';
		for (int style = DEMANGLE_WHOLE; style <= DEMANGLE_NO_PARAMETERS; style++) {
			result = demangle_name(name, style);
			if (!result ||
			    (strlen(result) > WORKER_TEXT_MAX && strcmp(result, name) != 0))
				abort();
			free(result);
		}
		free(name);
	}
	return 0;
}
