/* SPDX-License-Identifier: MIT */
/* Whatever the text: each header that is sent is one line with a name and a value, and none of
 * ours. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/fetch/http_headers.h"
#include "common/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(freep) char *text = strndup((const char *)data, size);
	struct http_headers h = {.rest = text};
	const char *header, *last = text;
	size_t length;
	unsigned n = 0;

	check(text);
	while (http_headers_next(&h, &header, &length)) {
		const char *colon = memchr(header, ':', length);

		check(header >= last && header + length <= text + strlen(text));
		check(http_header_is_value(header, length) && header[length - 1] != ' ');
		check(colon && colon > header && colon + 1 < header + length);
		check(!memchr(header, ' ', (size_t)(colon - header)));
		check(strncasecmp(header, "content-length:", 15) != 0);
		check(++n <= HTTP_HEADERS_MAX_N);
		last = header + length;
	}
	check(h.trouble || !*h.rest);
	check(!http_headers_next(&h, &header, &length));
	return 0;
}
