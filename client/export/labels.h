/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_LABELS_H
#define PROFD_CLIENT_EXPORT_LABELS_H

/*
 * The labels of a series as servers take them: names of letters, digits and '_', each once; values
 * of valid UTF-8, none empty; as many as the strictest server allows. What does not fit is changed
 * or left out, never refused.
 */
#include <stddef.h>

#include "common/span.h"

#define EXPORT_VERSION "version" /* of a program's samples, and of a series that has one */

#define EXPORT_LABELS_MAX      30u
#define EXPORT_LABEL_NAME_MAX  255u  /* bytes */
#define EXPORT_LABEL_VALUE_MAX 2048u /* bytes */

struct export_label {
	char *name, *value; /* malloc'ed */
};

/* All zero is empty. */
struct export_labels {
	struct export_label all[EXPORT_LABELS_MAX];
	size_t n;
};

void export_labels_deinit(struct export_labels *l);
/*
 * Other characters of @name become '_'. A label of that name has another value from now on; without
 * a value, or past the maximum, nothing happens. 0 or -ENOMEM.
 */
int export_labels_set(struct export_labels *l, struct span name, struct span value);
/* The same for "NAME=VALUE,NAME=VALUE". */
int export_labels_set_list(struct export_labels *l, const char *list);
/* By name. */
void export_labels_sort(struct export_labels *l);
/*
 * @text, of any bytes, as valid UTF-8 of at most @max bytes, cut before a character; malloc'ed,
 * NULL if there is no memory.
 */
char *export_text_fit(struct span text, size_t max);
/* @text with '_' for all but ASCII letters, digits and '_', and before a digit that it begins with.
 */
char *export_text_word(struct span text, size_t max);

#endif
