/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_LABEL_TEXTS_H
#define PROFD_CLIENT_ANALYSIS_LABEL_TEXTS_H

/*
 * The labels of one sample as texts: views print the values of a key together, and a sample may
 * have as many labels as its file likes. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/profile/profile.h"

/* All zero is empty. */
struct label_texts {
	char **all;
	size_t n;
};

void label_texts_deinit(struct label_texts *t);
void label_texts_sort(struct label_texts *t);

/* Prints the @n @labels of one key, in the order that the sample has them in. 0 or negative errno.
 */
typedef int (*label_texts_print)(const void *context, const struct profile_label *const *labels,
				 size_t n, FILE *out);
/*
 * What @print makes of those of @labels that are texts, or else numbers: a text a key, sorted. To
 * be deinitialized in any case. 0 or negative errno.
 */
int label_texts_init(struct label_texts *ret, const struct profile_label *labels, size_t n,
		     bool are_texts, label_texts_print print, const void *context);

#endif
