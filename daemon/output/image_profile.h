/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_IMAGE_PROFILE_H
#define PROFD_OUTPUT_IMAGE_PROFILE_H

/*
 * A snapshot's leaves, counted by image: what one window adds to the image profiles. Every sample
 * counts exactly once, so that the sum over all files is the window's number of samples: in its
 * image; in anon@ if it lies in anonymous executable memory; else, without a mapping or in an
 * image without usable headers, in unknown@.
 */
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "common/cleanup.h"
#include "common/profile/image_profile.h"
#include "daemon/output/context.h"
#include "daemon/output/view.h"

struct image_part {
	char *name;                    /* of the file */
	struct image_profile *profile; /* of this window alone */
	size_t capacity;               /* of its counts */
	UT_hash_handle hh;             /* by name; the next one is hh.next */
};

struct image_parts {
	struct image_part *files;   /* hash by name, in that order */
	struct known_image *images; /* hash by id */
	const struct context *c;
	const struct snapshot *snapshot;
};

/* Returns 0, IMAGE_PROFILE_E_OVERFLOW (a count passes 2^32 - 1) or negative errno. */
int image_parts_new(struct image_parts **ret, const struct context *c, const struct view *view);
void image_parts_free(struct image_parts *parts);
DEFINE_CLEANUP(struct image_parts *, image_parts_free)

/*
 * @old with @part's counts added, or a profile of these alone if @old is NULL, encoded. @old is
 * changed.
 * @part's path joins the paths that @old knows; @ledger may be NULL. Returns IMAGE_PROFILE_E_* or
 * negative errno.
 */
int image_part_encode(const struct image_part *part, const char *epoch, const char *ledger,
		      struct image_profile *old, uint8_t **ret, size_t *ret_length);

#endif
