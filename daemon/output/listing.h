/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_LISTING_H
#define PROFD_OUTPUT_LISTING_H

/*
 * What `profctl list` shows: the services of the store, or the windows of one service; the windows
 * of many, for those who read them as they are written; and what `profctl stop` shows: the files of
 * sessions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

struct snapshot;
struct store;
struct collected;

#define LISTING_ROWS_MAX 100000u /* nearly what an answer has room for */

struct listing_options {
	const char *service; /* unescaped; NULL: the services instead of their windows */
	uint64_t since_ns, until_ns;
	bool windows; /* the pprof windows of all that @service, perhaps a pattern, or NULL, means
		       */
};

/*
 * The services that have a window between @since_ns and @until_ns, or the windows that overlap this
 * range (0: no bound). Sessions are not listed. Ends early, with one row more than
 * LISTING_ROWS_MAX, where there are too many. May read files whose samples are not counted yet, one
 * at a time, some hundred and no large ones: those of a file system without extended attributes. Of
 * a file of an hour all counts that overlaps the range, of one of a day the hours that do. Services
 * are sorted by name, windows by time. Returns 0 or negative errno.
 */
int listing_new(Profd__Control__Listing **ret, struct store *store,
		const struct listing_options *options);
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
