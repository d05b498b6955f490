/* SPDX-License-Identifier: MIT */
#ifndef PROFD_IMAGES_IMAGE_CODE_H
#define PROFD_IMAGES_IMAGE_CODE_H

/*
 * What an image profile counted: the file on this host, if it is the one that was sampled, or the
 * kernel that runs. Files are read by an image worker.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/images/image_set.h"
#include "client/symbolize/object.h"

struct image_code {
	struct object_source *source;
	const struct image *image;
	struct object object;             /* of a file; OBJECT_NONE: it is the kernel's */
	char *path;                       /* of the file */
	const struct kernel_part *kernel; /* the source's; NULL: it is a file */
};

/* @source, @image: borrowed. To be closed in any case. Returns OBJECT_E_* or negative errno. */
int image_code_open(struct image_code *ret, struct object_source *source,
		    const struct image *image);
void image_code_close(struct image_code *c);

/* What lies at an address: the function as a whole, or a range without a name (""). */
struct image_place {
	const char *name; /* demangled; borrowed until the source is asked again */
	uint64_t start, size;
};

/* @address: link-time. Returns OBJECT_E_* or negative errno. */
int image_code_place(struct image_code *c, uint64_t address, struct image_place *ret);

/* The samples of an image by function. */
struct procedure {
	char *name;           /* "": of addresses that have no name */
	uint64_t start, size; /* link-time; 0 without a name */
	uint64_t count;
};

struct procedures {
	struct procedure *all; /* most samples first */
	size_t n;
};

/* @image: with its counts. To be deinitialized in any case. OBJECT_E_* or negative errno. */
int procedures_init(struct procedures *ret, struct image_code *code, const struct image *image);
void procedures_deinit(struct procedures *p);

#endif
