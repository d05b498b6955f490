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
#include "client/symbolize/asker.h"
#include "client/symbolize/files.h"
#include "client/symbolize/kernel.h"
#include "client/symbolize/object.h"

/* What all images are read with. */
struct image_world {
	struct files *files;
	struct asker *asker;
	struct kernel *kernel;
	struct notes *notes; /* borrowed: what could not be used, and why */
	struct object_source source;
};

/* @root_fd: "/"; borrowed. To be deinitialized in any case. Returns 0 or negative errno. */
int image_world_init(struct image_world *ret, int root_fd, struct notes *notes);
void image_world_deinit(struct image_world *w);

struct image_code {
	struct image_world *world;
	const struct image *image;
	struct object object;             /* of a file */
	char *path;                       /* of the file */
	const struct kernel_part *kernel; /* the world's; NULL: it is a file */
};

enum {
	IMAGE_CODE_E_OK,
	IMAGE_CODE_E_NONE,      /* not here, or of no use: noted */
	IMAGE_CODE_E_NO_WORKER, /* no image worker is to be had */
};

/* @image: borrowed. To be closed in any case. Returns IMAGE_CODE_E_* or negative errno. */
int image_code_open(struct image_code *ret, struct image_world *w, const struct image *image);
void image_code_close(struct image_code *c);

/* What lies at an address: the function as a whole, or a range without a name (""). */
struct image_place {
	const char *name; /* demangled; borrowed for the call */
	uint64_t start, size;
};

typedef int (*image_code_visit)(void *context, size_t i, const struct image_place *place);
/*
 * Calls @visit for each of @addresses (link-time; ascending), @n of them. Returns IMAGE_CODE_E_*,
 * negative errno, or what @visit returned if that is not 0.
 */
int image_code_names(struct image_code *c, const uint64_t *addresses, size_t n,
		     image_code_visit visit, void *context);
/*
 * The instructions of @range, at most WORKER_CODE_MAX bytes; @flags: those of WORKER_INSTRUCTIONS.
 * *ret is borrowed until the world is asked again. Returns IMAGE_CODE_E_* or negative errno; of the
 * kernel there are none.
 */
int image_code_instructions(struct image_code *c, const struct worker_range *range, uint32_t flags,
			    struct answer_code *ret);

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

/* @image: with its counts. To be deinitialized in any case. IMAGE_CODE_E_* or negative errno. */
int procedures_init(struct procedures *ret, struct image_code *code, const struct image *image);
void procedures_deinit(struct procedures *p);

#endif
