/* SPDX-License-Identifier: MIT */
#include "client/top/keys.h"

/* What stands behind ESC [, and behind ESC O in application mode. */
static int sequence_key(unsigned parameter, char final)
{
	switch (final) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	case '~':
		return parameter == 1 || parameter == 7   ? KEY_HOME
		       : parameter == 4 || parameter == 8 ? KEY_END
		       : parameter == 5                   ? KEY_PAGE_UP
		       : parameter == 6                   ? KEY_PAGE_DOWN
							  : KEY_NONE;
	default:
		return KEY_NONE;
	}
}

int key_parse(const char *bytes, size_t n, size_t *ret_used)
{
	unsigned parameter = 0;
	size_t at = 2;

	*ret_used = 1;
	if (bytes[0] == '\b')
		return KEY_BACKSPACE;
	if (bytes[0] != KEY_ESCAPE)
		return bytes[0] > 0 ? bytes[0] : KEY_NONE;
	if (n < 2 || (bytes[1] != '[' && bytes[1] != 'O'))
		return KEY_ESCAPE;
	/* Parameters and intermediates are 0x20 to 0x3f, the final byte lies above. */
	for (; at < n && bytes[at] >= 0x20 && bytes[at] < 0x40; at++)
		if (bytes[at] >= '0' && bytes[at] <= '9' && parameter < 1000)
			parameter = parameter * 10 + (unsigned)(bytes[at] - '0');
	*ret_used = at < n ? at + 1 : n;
	return at < n ? sequence_key(parameter, bytes[at]) : KEY_NONE;
}
