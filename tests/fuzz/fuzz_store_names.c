/* SPDX-License-Identifier: MIT */
/*
 * Everything in daemon/output that reads names or text of others: file names in the store, lines
 * of /proc/modules, ledger lines. What is accepted must come out again as it went in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/windows.h"
#include "common/store/names.h"
#include "daemon/output/kernel_images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void fuzz_names(const char *text)
{
	char escaped[NAMES_ESCAPED_MAX + 1], back[512], again[512];
	struct names_window window;
	const char *comma = strchr(text, ',');
	uint64_t begin_s;

	names_escape(text, NAMES_ESCAPED_MAX, escaped);
	check(strlen(escaped) <= NAMES_ESCAPED_MAX);
	check(!strchr(escaped, '/') && escaped[0] != '.' && escaped[0] != '-');
	check(!*text || names_unescape(escaped, back, sizeof(back)));
	if (strlen(text) < 60)
		check(!*text || strcmp(text, back) == 0);
	if (names_unescape(text, back, sizeof(back)))
		check(strlen(back) <= strlen(text));
	if (names_parse_window(text, &window)) {
		check(names_window(&window, again, sizeof(again)));
		check(strcmp(again, text) == 0);
	}
	if (names_parse_epoch(text, &begin_s)) {
		names_epoch(begin_s, again);
		check(strcmp(again, text) == 0);
	}
	names_parse_day(text);
	check(names_select_service(text, text));
	if (comma && comma[1])
		check(names_select_service(text, comma + 1) || strpbrk(comma + 1, ",*?") ||
		      strlen(comma + 1) > NAMES_ESCAPED_MAX);
}

static void fuzz_modules(const char *data, size_t size)
{
	const char *at = data, *end = data + size;
	struct kernel_module_line line;

	while (kernel_module_next(&at, end, &line)) {
		check(at <= end);
		check(line.name + line.name_length <= at);
	}
	check(at == end);
}

static void fuzz_ledger(const char *text, size_t half)
{
	cleanup(freep) char *sum = NULL, *first = strndup(text, half);

	check(first && ledger_line_add(&sum, first) == 0);
	check(ledger_line_add(&sum, text + half) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(freep) char *exact = malloc(size ? size : 1);
	cleanup(freep) char *text = strndup((const char *)data, size);

	check(exact && text);
	memcpy(exact, data, size);
	fuzz_modules(exact, size);
	fuzz_names(text);
	fuzz_ledger(text, strlen(text) / 2);
	return 0;
}
