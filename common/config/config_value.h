/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CONFIG_CONFIG_VALUE_H
#define PROFD_COMMON_CONFIG_CONFIG_VALUE_H

/*
 * The values that a key of the configuration can take: how each kind is read from text, checked,
 * kept in struct config, and printed back. Private to config.c.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct config;

enum kind {
	KIND_TEXT,
	KIND_PATH, /* absolute */
	KIND_LIST,
	KIND_BOOL,
	KIND_U32,
	KIND_U64,
	KIND_MODE,     /* octal */
	KIND_DURATION, /* ns */
	KIND_SIZE,     /* bytes */
	KIND_SHARE,
	KIND_FORMATS,
	KIND_SYMBOLIZE,
	KIND_LABEL, /* bit `min` of an unsigned */
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t offset;
	uint64_t min, max; /* numbers: the value; texts and paths: the length */
	const char *standard;
};

/* One value to be set; `why` is for the message when it is refused. */
struct value {
	const struct key *key;
	const char *text;
	void *field; /* set by value_set() */
	char why[200];
};

/*
 * Sets the field; lists grow, or are emptied by an empty text. Returns 0, CONFIG_E_INVALID with
 * `why` (to be read after the key's name), or negative errno.
 */
int value_set(struct config *c, struct value *v);
/* Releases what the field holds; a field of zeros holds nothing. */
void value_clear(struct config *c, const struct key *key);
/* Writes `name = value` lines that value_set() reads back. */
void value_print(const struct config *c, const struct key *key, FILE *out);

#endif
