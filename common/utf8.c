/* SPDX-License-Identifier: MIT */
#include "common/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_between(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/* RFC 3629, section 4: which second byte may follow the first one. */
static size_t sequence(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (is_between(first, 0xc2, 0xdf))
		return 2;
	if (is_between(first, 0xe0, 0xef))
		return 3;
	return is_between(first, 0xf0, 0xf4) ? 4 : 0;
}

size_t utf8_character(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint8_t low, high;
	size_t n;

	if (!length)
		return 0;
	if (bytes[0] < 0x80)
		return 1;
	n = sequence(bytes[0], &low, &high);
	if (!n || length < n || !is_between(bytes[1], low, high))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!is_between(bytes[i], 0x80, 0xbf))
			return 0;
	return n;
}

bool utf8_is_valid(const char *text)
{
	size_t length = strlen(text), n;

	for (; length; text += n, length -= n) {
		n = utf8_character(text, length);
		if (!n)
			return false;
	}
	return true;
}

size_t utf8_harmless(const char *text)
{
	size_t n = utf8_character(text, strnlen(text, 4));
	uint8_t first = (uint8_t)text[0];

	if (first < 0x20 || first == 0x7f || (!n && is_between(first, 0x80, 0x9f)))
		return 0;
	/* U+0080 to U+009F. */
	if (n == 2 && first == 0xc2 && (uint8_t)text[1] < 0xa0)
		return 0;
	return n ? n : 1;
}

void utf8_make_harmless(char *text)
{
	size_t n;

	for (; *text; text += n ? n : 1) {
		n = utf8_harmless(text);
		if (!n)
			*text = '?';
	}
}

char *utf8_repair(const char *text)
{
	const size_t n_replacement = strlen(UTF8_REPLACEMENT);
	size_t length = strlen(text), end = 0;
	char *ret = malloc(length * n_replacement + 1);

	if (!ret)
		return NULL;
	while (length) {
		size_t n = utf8_character(text, length);

		memcpy(ret + end, n ? text : UTF8_REPLACEMENT, n ? n : n_replacement);
		end += n ? n : n_replacement;
		text += n ? n : 1;
		length -= n ? n : 1;
	}
	ret[end] = '\0';
	return ret;
}

size_t utf8_length(const char *text)
{
	size_t length = strlen(text), n = 0;

	for (; length; n++) {
		size_t bytes = utf8_character(text, length);

		text += bytes ? bytes : 1;
		length -= bytes ? bytes : 1;
	}
	return n;
}

int utf8_field(const char *text, int width)
{
	return width + (int)(strlen(text) - utf8_length(text));
}
