/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_LABELS_H
#define PROFD_CLIENT_ANALYSIS_LABELS_H

/* What reports make of the labels of samples: the units of numbers, and texts. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/profile/intern.h"
#include "common/profile/profile.h"
#include "common/text_print.h"

/*
 * The units of number labels, one a key, as pprof has them: the first unit that a label of the key
 * names in the profile, whatever filters make of its sample; without any, "bytes" for what
 * allocators tell, else the key is the unit.
 */
struct label_units {            /* all zero knows none */
	struct label_unit *all; /* by key */
	struct intern in;
};

void label_units_deinit(struct label_units *u);
/* Learns from the labels of a sample. 0 or negative errno. */
int label_units_learn(struct label_units *u, const struct profile_label *labels, size_t n);
/* The unit of @key (a string of @p); the profile's, or static. @u NULL knows none. */
const char *label_units_of(const struct label_units *u, const struct profile *p, uint32_t key);

/*
 * The labels of one sample as texts: views print the values of a key together, and a sample may
 * have as many labels as its file likes.
 *
 * Prints the @n @labels of one key, in the order that the sample has them in. 0 or negative
 * errno.
 */
typedef int (*label_texts_print)(const void *context, const struct profile_label *const *labels,
				 size_t n, FILE *out);
/*
 * What @print makes of those of @labels that are texts, or else numbers: a text a key, sorted. To
 * be deinitialized in any case. 0 or negative errno.
 */
int label_texts_init(struct texts *ret, const struct profile_label *labels, size_t n,
		     bool are_texts, label_texts_print print, const void *context);

#endif
