/* SPDX-License-Identifier: MIT */
/* Any text as what a file holds: what is accepted is printed and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/output/counts_text.h"

#define N 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_counts counts[N] = {0}, again[N] = {0};
	char text[N * COUNTS_TEXT_MAX], *given = strndup((const char *)data, size);

	if (given && counts_text_parse(given, counts, N)) {
		if (counts_text_print(counts, N, text) >= sizeof(text) ||
		    !counts_text_parse(text, again, N))
			abort();
		for (size_t i = 0; i < N; i++)
			if (again[i].samples != counts[i].samples ||
			    again[i].cpu_ns != counts[i].cpu_ns ||
			    again[i].off_ns != counts[i].off_ns ||
			    again[i].peak.cpu_ms != counts[i].peak.cpu_ms)
				abort();
	}
	free(given);
	return 0;
}
