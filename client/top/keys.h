/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_KEYS_H
#define PROFD_TOP_KEYS_H

/*
 * Keys from the bytes that a terminal sends: characters, in UTF-8, and what begins with ESC
 * (ECMA-48). A key's bytes may come in pieces; whether an ESC is one or the key of that name, only
 * time can tell, which is the caller's to measure. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

enum {
	KEY_NONE, /* bytes that are none we know */
	/* Others are the character itself, 1 to 0x10ffff. */
	KEY_UP = 0x110000, /* up to KEY_END: what scrolls */
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_INCOMPLETE, /* the bytes end in the middle of one */
};

#define KEY_ESCAPE    27
#define KEY_BACKSPACE 127

/* What has come and is no key yet. */
struct keys {
	char bytes[64];
	size_t n;
};

/*
 * Takes out the next key that we know; KEY_INCOMPLETE: there is none. @is_all: no more is to come
 * that belongs to those bytes, and then none of them stays behind.
 */
int keys_next(struct keys *k, bool is_all);

/*
 * The first key in @bytes, of which there are @n > 0; *ret_used of them are it, at least 1.
 * @is_all: it is never KEY_INCOMPLETE.
 */
int key_parse(const char *bytes, size_t n, bool is_all, size_t *ret_used);

#endif
