/* SPDX-License-Identifier: MIT */
#include "common/worker/text.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

/* How many bytes the character at the beginning of [text, text + length) has; 0: it may not be. */
static size_t text_character(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t n = utf8_character(text, length);

	if (n == 1)
		return bytes[0] >= 0x20 && bytes[0] < 0x7f;
	if (n == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0) /* U+0080 to U+009F */
		return 0;
	return n;
}

bool text_is_clean(const char *text, size_t length)
{
	while (length > 0) {
		size_t n = text_character(text, length);

		if (!n)
			return false;
		text += n;
		length -= n;
	}
	return true;
}

size_t text_clean(const char *text, size_t length, char *ret, size_t max)
{
	size_t filled = 0;

	while (length > 0) {
		size_t n = text_character(text, length), n_filled = n;
		const char *from = text;

		if (!n) {
			n = 1;
			from = UTF8_REPLACEMENT;
			n_filled = strlen(UTF8_REPLACEMENT);
		}
		if (n_filled > max - filled)
			break;
		memcpy(ret + filled, from, n_filled);
		filled += n_filled;
		text += n;
		length -= n;
	}
	ret[filled] = '\0';
	return filled;
}
