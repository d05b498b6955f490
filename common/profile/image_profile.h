/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_IMAGE_PROFILE_H
#define PROFD_COMMON_PROFILE_IMAGE_PROFILE_H

/*
 * The DCPI image profile (the file format description that came with Compaq's Continuous
 * Profiling Infrastructure, version pdb-0.07): an ASCII header of "key value" lines, then chunks
 * of counts per instruction address, then a footer with the number of addresses that have samples
 * and the sum of all counts. Binary values are little-endian 32-bit.
 *
 * Counts are kept here as a sorted array of (offset, count). Reading checks everything the format
 * promises: ordered and disjoint chunks, nothing past the footer, a footer that matches.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h" /* struct profile_message */

enum {
	IMAGE_PROFILE_E_OK,
	IMAGE_PROFILE_E_MALFORMED, /* see the message; it names the byte offset */
	IMAGE_PROFILE_E_OVERFLOW,  /* a count or the sum would pass 2^32 - 1: begin a new epoch */
	IMAGE_PROFILE_E_MISMATCH,  /* merging profiles of different image, event or period */
};

struct image_profile_count {
	uint32_t offset; /* bytes from tstart */
	uint32_t count;  /* never 0 */
};

/* Header texts are owned, malloc'ed, without newlines; optional ones may be NULL. */
struct image_profile {
	char *image;    /* hex digits */
	char *epoch;    /* YYMMDDHHMM, UTC */
	char *platform; /* host name */
	char *event;
	char *path;    /* optional; several path lines are joined by '\n' */
	char *ledger;  /* optional; profd's line for what is not in the counts */
	char *unknown; /* optional; whole unknown header lines, each ending in '\n', in order */
	uint64_t period;
	uint64_t tstart;
	uint64_t tsize;
	uint32_t cpuspeed_mhz; /* 0 unknown */
	uint32_t cpucount;     /* 0 unknown */

	struct image_profile_count *counts; /* ascending offsets */
	size_t n_counts;
	uint64_t total; /* sum of the counts, at most 2^32 - 1 */
};

int image_profile_new(struct image_profile **ret);
/* Frees all; takes NULL. */
void image_profile_free(struct image_profile *p);
DEFINE_CLEANUP(struct image_profile *, image_profile_free)

/*
 * *ret malloc'ed, the caller's. -EINVAL where a required text is missing or would break the header
 * (image not hexadecimal, a newline, a leading blank) or the counts are not as stated above.
 * Returns 0 or negative errno.
 */
int image_profile_write(const struct image_profile *p, uint8_t **ret, size_t *ret_length);
/* Returns IMAGE_PROFILE_E_* or negative errno. */
int image_profile_read(const uint8_t *data, size_t length, struct image_profile **ret,
		       struct profile_message *message);
/*
 * Adds @counts (ascending, unique offsets) to @p. On IMAGE_PROFILE_E_OVERFLOW @p is unchanged.
 * Returns IMAGE_PROFILE_E_* or negative errno.
 */
int image_profile_add(struct image_profile *p, const struct image_profile_count *counts,
		      size_t n_counts);

/*
 * Adds [@line, @line + @n) to the lines in *@list (NULL: none), joined by newlines, as paths are;
 * not if it is there, or there are @max of them. 0 or negative errno.
 */
int image_profile_add_line(char **list, const char *line, size_t n, size_t max);

/*
 * The id, in image profiles, of an image that has no build id: 16 hexadecimal digits of a hash
 * (FNV-1a, 64 bits) of what identifies it, so that a rebuilt file is another image. Pure.
 */
#define IMAGE_ID_SIZE 17 /* with the NUL */
/* @path: as the process sees it. */
void image_id_of_file(const char *path, uint64_t size, uint64_t mtime_ns, char ret[IMAGE_ID_SIZE]);
/* @file: "vmlinux", "module.ko"; @release: of the kernel (uname(2)). */
void image_id_of_kernel(const char *file, const char *release, char ret[IMAGE_ID_SIZE]);

/* Whether @id may be one of these: a build id of 8 bytes looks the same, those of Go do not. */
bool image_id_is_hash(const char *id);

#endif
