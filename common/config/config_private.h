/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CONFIG_CONFIG_PRIVATE_H
#define PROFD_COMMON_CONFIG_CONFIG_PRIVATE_H

/* The keys, as reading and printing go by them, and their values. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config/config.h"

enum config_kind {
	KIND_TEXT,
	KIND_PATH, /* absolute */
	KIND_LIST,
	KIND_BOOL,
	KIND_U32,
	KIND_U64,
	KIND_MODE,     /* octal */
	KIND_DURATION, /* ns */
	KIND_SECONDS,  /* the same in whole seconds; bounds in ns */
	KIND_SIZE,     /* bytes */
	KIND_SHARE,
	KIND_FORMATS,
	KIND_SYMBOLIZE,
	KIND_LABEL, /* bit `min` of an unsigned */
};

struct config_key {
	const char *section, *name;
	enum config_kind kind;
	size_t offset;
	uint64_t min, max; /* numbers: the value; texts and paths: the length */
	const char *standard;
};

/* In the order in which they are printed, up to one without a name. */
extern const struct config_key config_keys[];

/* One value to be set; `why` is for the message when it is refused. */
struct config_value {
	const struct config_key *key;
	const char *text;
	void *field; /* in struct config */
	char why[200];
};

/*
 * Sets the field; lists grow, or are emptied by an empty text. Returns 0, CONFIG_E_INVALID with
 * `why` (to be read after the key's name), or negative errno.
 */
int config_value_set(struct config *c, struct config_value *v);
/* A field of zeros holds nothing. */
void config_value_clear(struct config *c, const struct config_key *key);
void config_value_print(const struct config_key *key, const void *field, FILE *out);

/* With the defaults. Returns 0 or negative errno. */
int config_new(struct config **ret);
/* Those of a user's own profd in their place. Returns 0 or -ENOMEM. */
int config_apply_user(struct config *c, const struct user_paths *user);

#endif
