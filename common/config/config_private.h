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
	KIND_AGE,   /* KIND_DURATION, or an empty text for 0 */
	KIND_URL,
	KIND_EXPORT_TYPE,
	/* Comma-separated, joined to one text without blanks. */
	KIND_SERVICES,
	KIND_TAGS,      /* NAME=VALUE */
	KIND_TAG_NAMES, /* labels of samples */
};

struct config_key {
	const char *section, *name;
	enum config_kind kind;
	size_t offset;     /* in struct config, or in struct config_export */
	uint64_t min, max; /* numbers: the value; texts and paths: the length */
	const char *standard;
};

/* In the order in which they are printed, up to one without a name; those of each [export NAME]. */
extern const struct config_key config_keys[], config_export_keys[];

/* One value to be set; `why` is for the message when it is refused. */
struct config_value {
	const struct config_key *key;
	const char *text;
	void *field;
	char why[200];
};

#define value_invalid(v, ...) (snprintf((v)->why, sizeof((v)->why), __VA_ARGS__), CONFIG_E_INVALID)

/* The next item of a comma-separated text, without blanks around it; false at the end. */
bool config_next_item(const char **text, const char **ret_item, size_t *ret_length);

/*
 * Sets the field in what the key's offset is of; lists grow, or are emptied by an empty text.
 * Returns 0, CONFIG_E_INVALID with `why` (to be read after the key's name), or negative errno.
 */
int config_value_set(void *fields, struct config_value *v);
/* A field of zeros holds nothing. */
void config_value_clear(void *fields, const struct config_key *key);
void config_value_print(const struct config_key *key, const void *field, FILE *out);

/* Of the kinds above that are of [export NAME], and texts: 0, CONFIG_E_INVALID or negative errno.
 */
int value_replace_text(struct config_value *v);
int value_set_url(struct config_value *v);
int value_set_export_type(struct config_value *v);
int value_set_joined(struct config_value *v);

/*
 * The section "[export NAME]", of which @name is what follows "export": a new one with the
 * defaults, or one of an earlier file. Returns 0, CONFIG_E_INVALID with @why, or negative errno.
 */
int config_export_begin(struct config *c, const char *name, const char *file, unsigned line,
			struct config_export **ret, char why[200]);
/*
 * After the last file: what @e lacks, to be read after its name, or NULL. No services are all.
 * Returns 0, CONFIG_E_INVALID or negative errno.
 */
int config_export_finish(struct config_export *e, const char **ret_lacks);
void config_export_deinit(struct config_export *e);

/* Every key's field gets its default. Returns 0 or negative errno. */
int config_set_defaults(void *fields, const struct config_key *keys);
/* With the defaults. Returns 0 or negative errno. */
int config_new(struct config **ret);
/* Those of a user's own profd in their place. Returns 0 or -ENOMEM. */
int config_apply_user(struct config *c, const struct user_paths *user);

#endif
