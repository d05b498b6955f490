/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_LISTING_H
#define PROFD_OUTPUT_LISTING_H

/*
 * What `profctl list` shows: the services of the store, or the windows of one service; and what
 * `profctl stop` shows: the files of sessions.
 */
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

struct snapshot;
struct store;
struct collected;

/*
 * @service NULL: the services that have a window between @since_ns and @until_ns; else the
 * windows of one that overlap this range (0: no bound). Sessions are not listed. May read files
 * whose samples are not counted yet, one at a time, some hundred and no large ones: those of a file
 * system without extended attributes. Of a file of an hour all counts that overlaps the range, of
 * one of a day the hours that do. Services are sorted by name, windows by time. Returns 0 or
 * negative errno.
 */
int listing_new(Profd__Control__Listing **ret, struct store *store, const char *service,
		uint64_t since_ns, uint64_t until_ns);
/*
 * Adds the open window of the system session to the services, if it is in the range. Returns 0 or
 * negative errno.
 */
int listing_add_open(Profd__Control__Listing *rows, const struct snapshot *open, uint64_t since_ns,
		     uint64_t until_ns);
/*
 * The paths of all files of the sessions @ids, of each in the order of their time, each ended by
 * NUL, as a file. One of more than LISTING_BYTES_MAX has a message. Returns 0 or negative errno.
 */
#define LISTING_BYTES_MAX (UINT64_C(16) << 20)
int listing_of_sessions(struct collected **ret, const struct store *store, const uint64_t *ids,
			size_t n_ids);
/* Frees all; takes NULL. */
void listing_free(Profd__Control__Listing *listing);
DEFINE_CLEANUP(Profd__Control__Listing *, listing_free)

#endif
