/* SPDX-License-Identifier: MIT */
/*
 * A character is checked by its first byte, which says how many follow and which the second may be.
 * Bytes that are none count as one character each, so that every text has a length and a width.
 */
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

static bool utf8_byte_in_range(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/* RFC 3629, section 4: which second byte may follow the first one. */
static size_t utf8_sequence_length(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (utf8_byte_in_range(first, 0xc2, 0xdf))
		return 2;
	if (utf8_byte_in_range(first, 0xe0, 0xef))
		return 3;
	return utf8_byte_in_range(first, 0xf0, 0xf4) ? 4 : 0;
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
	n = utf8_sequence_length(bytes[0], &low, &high);
	if (!n || length < n || !utf8_byte_in_range(bytes[1], low, high))
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!utf8_byte_in_range(bytes[i], 0x80, 0xbf))
			return 0;
	return n;
}

uint32_t utf8_code_point(const char *text, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint32_t code = n == 1 ? bytes[0] : bytes[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (bytes[i] & 0x3fu);
	return code;
}

size_t utf8_write(char text[UTF8_SIZE], uint32_t code)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	text[n] = '\0';
	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		text[i] = (char)(0x80 | (code & 0x3f));
	text[0] = (char)(n == 1 ? code : (0xf00u >> n & 0xf0) | code);
	return n;
}

/* Most texts are ASCII: eight at once. */
static bool utf8_eight_are_ascii(const char *text)
{
	uint64_t eight;

	memcpy(&eight, text, sizeof(eight));
	return !(eight & UINT64_C(0x8080808080808080));
}

bool utf8_is_valid(const char *text)
{
	size_t length = strlen(text), n;

	for (; length; text += n, length -= n) {
		n = length >= 8 && utf8_eight_are_ascii(text) ? 8 : utf8_character(text, length);
		if (!n)
			return false;
	}
	return true;
}

static bool is_control_code(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/* U+061C, the marks, embeddings and overrides, the isolates. */
static bool is_bidi_control(uint32_t code)
{
	return code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t utf8_next(const char *text, bool *ret_harmless)
{
	size_t n = utf8_character(text, strnlen(text, 4));
	uint32_t code = n ? utf8_code_point(text, n) : (uint8_t)*text;

	*ret_harmless = !is_control_code(code) && !is_bidi_control(code);
	return n ? n : 1;
}

void utf8_make_harmless(char *text, const char *kept)
{
	char *to = text;
	bool is_harmless;

	for (size_t n; *text; text += n) {
		n = utf8_next(text, &is_harmless);
		is_harmless |= n == 1 && strchr(kept, *text);
		memmove(to, is_harmless ? text : "?", is_harmless ? n : 1);
		to += is_harmless ? n : 1;
	}
	*to = '\0';
}

void utf8_write_harmless(FILE *out, const char *text, const char *kept)
{
	bool is_harmless;

	for (size_t n; *text; text += n) {
		n = utf8_next(text, &is_harmless);
		is_harmless |= n == 1 && strchr(kept, *text);
		fwrite(is_harmless ? text : "?", 1, is_harmless ? n : 1, out);
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

int utf8_field_width(const char *text, int width)
{
	return width + (int)(strlen(text) - utf8_length(text));
}
