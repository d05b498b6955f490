/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python_text.h"

#include <string.h>

#include "common/utf8.h"

static uint32_t text_character(const uint8_t *at, unsigned width)
{
	uint32_t four;
	uint16_t two;

	if (width == 1)
		return *at;
	if (width == 2) {
		memcpy(&two, at, sizeof(two));
		return two;
	}
	memcpy(&four, at, sizeof(four));
	return four;
}

size_t python_text(const uint8_t *data, size_t length, unsigned width, char *ret, size_t size)
{
	char text[UTF8_SIZE];
	size_t n = 0;

	if (width != 1 && width != 2 && width != 4)
		length = 0;
	for (size_t i = 0; i + width <= length && width; i += width) {
		uint32_t code = text_character(data + i, width);
		size_t bytes;

		if (code < 0x20 || (code >= 0x7f && code < 0xa0))
			code = '?';
		if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			code = 0xfffd;
		bytes = utf8_write(text, code);
		if (n + bytes >= size)
			break;
		memcpy(ret + n, text, bytes);
		n += bytes;
	}
	ret[n] = '\0';
	return n;
}
