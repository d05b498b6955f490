/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_IMAGES_H
#define PROFD_CLIENT_SHIM_CORE_IMAGES_H

/*
 * What code this process has mapped: for each executable mapping the table of its image's unwind
 * rules, and its line of /proc/self/maps for the profile's file.
 *
 * A look at /proc/self/maps makes a view; the tables of images that no view had before are compiled
 * for it. There are two views: handlers read the current one, the next is made in the other after
 * its last reader has left. Tables are only ever added, so what a view refers to stays. Lines of
 * mappings that are gone are kept for the file.
 *
 * The files are read, not the memory: that can vanish under the reader when another thread unmaps
 * it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/walk.h"

struct images;
struct images_view;

/* Returns 0 or -ENOMEM. It stays: handlers of other threads may look at it at any time. */
int images_new(struct images **ret);

/*
 * Makes a new view. One caller at a time. Reads files, takes milliseconds the first time. Without
 * /proc everything stays as it is.
 */
void images_refresh(struct images *images);

/*
 * The current view, to be given back; NULL if there is none, or none can be had without waiting.
 * Async-signal-safe.
 */
struct images_view *images_enter(struct images *images);
void images_leave(struct images_view *view);
/* Waits until all that had entered a view have left it. */
void images_wait(struct images *images);
/* In a forked child: handlers that were in a view do not exist there. */
void images_after_fork(struct images *images);

/* The mapping at @address, or NULL. Async-signal-safe. */
const struct unwind_mapping *images_find(const struct images_view *view, uint64_t address);
/*
 * The lines of @view's mappings, as of /proc/self/maps. Returns its number: views are counted from
 * 1 on. Async-signal-safe.
 */
uint32_t images_view_lines(const struct images_view *view, const char **ret, size_t *ret_length);
/* Fills in the tables of all views. */
void images_tables(struct images *images, struct walk_maps *ret);

/*
 * The lines of all executable mappings, the main program's first, then those that were there
 * before. *ret is malloc'ed. One caller at a time. Returns 0 or -ENOMEM.
 */
int images_lines(struct images *images, char **ret);

#endif
