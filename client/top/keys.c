/* SPDX-License-Identifier: MIT */
#include "client/top/keys.h"

#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"

/* What stands behind ESC [, and behind ESC O in application mode. */
static int sequence_key(unsigned parameter, char final)
{
	static const struct {
		char final;
		unsigned parameter; /* of '~' */
		int key;
	} sequences[] = {
		{'A', 0, KEY_UP},        {'B', 0, KEY_DOWN}, {'H', 0, KEY_HOME},
		{'F', 0, KEY_END},       {'~', 1, KEY_HOME}, {'~', 7, KEY_HOME},
		{'~', 4, KEY_END},       {'~', 8, KEY_END},  {'~', 5, KEY_PAGE_UP},
		{'~', 6, KEY_PAGE_DOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		if (sequences[i].final == final &&
		    (final != '~' || sequences[i].parameter == parameter))
			return sequences[i].key;
	return KEY_NONE;
}

/* ESC [ or ESC O, which @bytes begin with, and what follows. */
static int sequence_parse(const char *bytes, size_t n, bool is_all, size_t *ret_used)
{
	unsigned parameter = 0;
	size_t at = 2;

	/* Parameters and intermediates are 0x20 to 0x3f, the final byte lies above. */
	for (; at < n && bytes[at] >= 0x20 && bytes[at] < 0x40; at++)
		if (bytes[at] >= '0' && bytes[at] <= '9' && parameter < 1000)
			parameter = parameter * 10 + (unsigned)(bytes[at] - '0');
	*ret_used = at;
	if (at == n)
		return is_all ? KEY_NONE : KEY_INCOMPLETE;
	/* It was broken off by what is none of these: the next one, say. */
	if ((uint8_t)bytes[at] < 0x40 || (uint8_t)bytes[at] > 0x7e)
		return KEY_NONE;
	*ret_used = at + 1;
	return sequence_key(parameter, bytes[at]);
}

static int character_parse(const char *bytes, size_t n, bool is_all, size_t *ret_used)
{
	uint8_t first = (uint8_t)*bytes;
	size_t length = utf8_character(bytes, n);
	size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;

	if (length) {
		*ret_used = length;
		return (int)utf8_code_point(bytes, length);
	}
	return n < wanted && !is_all ? KEY_INCOMPLETE : KEY_NONE;
}

int key_parse(const char *bytes, size_t n, bool is_all, size_t *ret_used)
{
	*ret_used = 1;
	if (bytes[0] == '\b')
		return KEY_BACKSPACE;
	if (bytes[0] != KEY_ESCAPE)
		return character_parse(bytes, n, is_all, ret_used);
	if (n < 2)
		return is_all ? KEY_ESCAPE : KEY_INCOMPLETE;
	if (bytes[1] != '[' && bytes[1] != 'O')
		return KEY_ESCAPE;
	return sequence_parse(bytes, n, is_all, ret_used);
}

int keys_next(struct keys *k, bool is_all)
{
	while (k->n) {
		size_t used;
		int key = key_parse(k->bytes, k->n, is_all || k->n == sizeof(k->bytes), &used);

		if (key == KEY_INCOMPLETE)
			break;
		k->n -= used;
		memmove(k->bytes, k->bytes + used, k->n);
		if (key != KEY_NONE)
			return key;
	}
	return KEY_INCOMPLETE;
}
