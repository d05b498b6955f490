/* SPDX-License-Identifier: MIT */
#ifndef PROFD_IMAGES_IMAGE_SET_H
#define PROFD_IMAGES_IMAGE_SET_H

/*
 * The images of one or more epochs and platforms: profiles of the same image, event and start are
 * one, their counts added. An image is told by its name and id together, because copies of one file
 * have one build id. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/profile/image_profile.h"

struct image_count {
	uint32_t offset;
	uint64_t count;
};

struct image {
	char *name;  /* of the file, without id and event */
	char *id;    /* hexadecimal */
	char *paths; /* where it lay, "\n" between them, not endlessly many; NULL: not said */
	char *title; /* what to call it: its first path, else its name */
	uint64_t tstart, tsize;
	uint64_t total;
	struct image_count *counts; /* ascending offsets; NULL unless they are kept */
	size_t n_counts, n_counts_allocated;
};

/*
 * Those of the event @wanted_event (borrowed; NULL: that which all have), and their counts if it
 * @keeps_counts; else zeroes to begin with. Profiles are added, and then it is finished.
 */
struct image_set {
	const char *wanted_event;
	bool keeps_counts;
	struct image *images; /* most samples first, then by name and id */
	size_t n, n_allocated;
	struct profile *keys; /* private: what tells images apart, by number: texts from 1 on */
	char *event;          /* of all; NULL: no profile */
	uint64_t period;      /* of the first profile */
	bool has_other_periods;
	char *platforms; /* blanks between them; NULL: no profile */
	uint64_t total;
	char *other_event; /* private: a second one that was seen */
};

enum {
	IMAGE_SET_E_OK,
	IMAGE_SET_E_EVENTS, /* of several events, none was asked for: see the message */
	IMAGE_SET_E_NONE,   /* no such image, or more than one: see the message */
};

/* A profile of the file @name; both are borrowed for the call. Returns 0 or negative errno. */
int image_set_add(struct image_set *set, const char *name, const struct image_profile *p);
/* Nothing is added any more. IMAGE_SET_E_OK, _EVENTS or negative errno. */
int image_set_finish(struct image_set *set, struct profile_message *message);
/* Takes one of zeroes. */
void image_set_deinit(struct image_set *set);

/* Of the @i'th count, link-time. */
static inline uint64_t image_address(const struct image *image, size_t i)
{
	return image->tstart + image->counts[i].offset;
}

/* The index of the first count at @address (link-time) or behind it; n_counts: there is none. */
size_t image_first_count(const struct image *image, uint64_t address);
/*
 * The image that @what means: one of its paths, its name, or its id, of which the first eight
 * digits do if no other begins so. IMAGE_SET_E_OK or _NONE.
 */
int image_set_find(const struct image_set *set, const char *what, const struct image **ret,
		   struct profile_message *message);

#endif
