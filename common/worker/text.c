/* SPDX-License-Identifier: MIT */
#include "common/worker/text.h"

#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool is_between(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/* RFC 3629, section 4: which second byte may follow the first one. */
static size_t sequence(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (first == 0xc2)
		*ret_low = 0xa0; /* without U+0080 to U+009F */
	else if (first == 0xe0)
		*ret_low = 0xa0;
	else if (first == 0xf0)
		*ret_low = 0x90;
	if (first == 0xed)
		*ret_high = 0x9f;
	else if (first == 0xf4)
		*ret_high = 0x8f;
	if (is_between(first, 0xc2, 0xdf))
		return 2;
	if (is_between(first, 0xe0, 0xef))
		return 3;
	return is_between(first, 0xf0, 0xf4) ? 4 : 0;
}

size_t text_character(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint8_t low, high;
	size_t n;

	if (!length)
		return 0;
	if (bytes[0] < 0x80)
		return is_between(bytes[0], 0x20, 0x7e);
	n = sequence(bytes[0], &low, &high);
	if (!n || length < n || !is_between(bytes[1], low, high))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!is_between(bytes[i], 0x80, 0xbf))
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
			from = replacement;
			n_filled = sizeof(replacement) - 1;
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
