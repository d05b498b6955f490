/* SPDX-License-Identifier: MIT */

/* Any bytes as a server's answer: names lie in it, and neither are empty nor end in blanks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/remote_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct symbol_answer answer = {.lines = text_lines_of(data, size)};
	struct symbol_line line;

	while (symbol_answer_next(&answer, &line)) {
		if (!line.length || line.length > SYMBOL_ANSWER_NAME_MAX || line.name < text ||
		    line.name + line.length > text + size || memchr(line.name, '\n', line.length) ||
		    memchr(line.name, '\0', line.length) || line.name[0] == ' ')
			abort();
	}
	return 0;
}
