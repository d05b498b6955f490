/* SPDX-License-Identifier: MIT */
#ifndef PROFD_IMAGES_PROCEDURES_H
#define PROFD_IMAGES_PROCEDURES_H

/* The samples of an image by function. */
#include <stddef.h>
#include <stdint.h>

#include "client/images/image_code.h"

struct procedure {
	char *name;           /* "": of addresses that have no name */
	uint64_t start, size; /* link-time; 0 without a name */
	uint64_t count;
};

struct procedures {
	struct procedure *all; /* most samples first */
	size_t n;
};

/* @image: with its counts. To be deinitialized in any case. IMAGE_CODE_E_* or negative errno. */
int procedures_init(struct procedures *ret, struct image_code *code, const struct image *image);
void procedures_deinit(struct procedures *p);

#endif
