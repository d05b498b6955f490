/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_PROGRESS_H
#define PROFD_CLIENT_GATEWAY_EXPORT_PROGRESS_H

/*
 * What a target has of the stored windows: of each service, up to which one, and how many parts of
 * the one after it; and those that it refused for their age, which it may take later. Windows are
 * given by their paths below the store (place.h), and those of a service are sent in their order.
 *
 * It is kept in a file, a line for each change, which is written before the next request is made:
 * what was stored is not sent again after a restart, but for the request that was under way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define PROGRESS_FILE_MAX     ((size_t)32 << 20) /* bytes that are read of one */
#define PROGRESS_SERVICES_MAX 65536u
#define PROGRESS_HELD_MAX     65536u

struct progress;

/*
 * Reads @path, or makes it: then windows that end after @now_s (Unix seconds) are wanted. Lines
 * that are none of ours are left out. 0 or negative errno: it cannot be read or written.
 */
int progress_open(struct progress **ret, const char *path, uint64_t now_s);
/* Takes NULL. The file stays. */
void progress_free(struct progress *p);
DEFINE_CLEANUP(struct progress *, progress_free)

/* Windows that end earlier, in Unix seconds, are not wanted, or were sent. */
uint64_t progress_since(const struct progress *p);
/* Whether @window is to be sent: not to be had yet, and a window. */
bool progress_lacks(const struct progress *p, const char *window);
/* Up to when, in Unix seconds, its service's windows are there or not wanted. */
uint64_t progress_until(const struct progress *p, const char *window);
/* How many parts of @window are there already, and the digest of these (progress_mark_part()). */
uint64_t progress_parts(const struct progress *p, const char *window, uint64_t *ret_digest);
/* The window of @window's service of which some parts are there, and not all; NULL: there is none.
 */
const char *progress_begun(const struct progress *p, const char *window);
/* The first of those that are held for their age, or NULL; and how many there are. */
const char *progress_held(const struct progress *p);
size_t progress_count_held(const struct progress *p);

/*
 * 0 or negative errno, with which it may be forgotten at the next start, as of those below. By
 * @digest it is known then whether the window is still cut into the same parts.
 */
int progress_mark_part(struct progress *p, const char *window, uint64_t n_parts, uint64_t digest);
/* All of it is there, or it is given up. */
int progress_mark_done(struct progress *p, const char *window);
/* Refused for its age: @window counts as done for those behind it, but is kept, with its parts. */
int progress_hold(struct progress *p, const char *window);
/* Nothing that ends before @since_s is wanted any more. */
int progress_move(struct progress *p, uint64_t since_s);

/* Takes what @length bytes of a file say. For the fuzzer; pure. 0 or -ENOMEM. */
int progress_parse(struct progress **ret, const char *text, size_t length);

#endif
