/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_KEYS_H
#define PROFD_TOP_KEYS_H

/* Keys from the bytes that a terminal sends: characters, and what begins with ESC (ECMA-48). Pure.
 */
#include <stddef.h>

enum {
	KEY_NONE, /* the bytes end in the middle of one, or are none that we know */
	/* Others are the character itself, 1 to 127. */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

#define KEY_ESCAPE    27
#define KEY_BACKSPACE 127

/* The first key in @bytes, of which there are @n > 0; *ret_used of them are it, at least 1. */
int key_parse(const char *bytes, size_t n, size_t *ret_used);

#endif
