/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what was found in lists, and as a list: whole and in pieces, the same lines of it
 * are those that are looked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/package_lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const struct package_paths *paths, const uint8_t *data, size_t size,
			  size_t piece)
{
	static struct line_reader lines;
	struct span line;
	size_t n = 0;

	memset(&lines, 0, sizeof(lines));
	for (size_t at = 0; at < size; at += piece) {
		struct span part = {(const char *)data + at, size - at < piece ? size - at : piece};

		while (line_reader_next(&lines, &part, &line))
			n += package_paths_has(paths, line);
	}
	return n + (line_reader_end(&lines, &line) && package_paths_has(paths, line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size}, package, path;
	struct package_paths paths;
	char *copy = strndup((const char *)data, size);

	if (!copy)
		abort();
	while (package_lists_take(&text, &package, &path))
		if (!package.length || memchr(package.at, '/', package.length) || !path.length)
			abort();
	package_paths_set(&paths, copy);
	if (paths.n > PACKAGE_LISTS_PATHS_MAX ||
	    count_lines(&paths, data, size, size + 1) !=
		    count_lines(&paths, data, size, 1 + size / 5))
		abort();
	free(copy);
	return 0;
}
