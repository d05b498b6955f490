/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_LISTING_H
#define PROFD_OUTPUT_LISTING_H

/* What `profctl list` shows: the services of the store, or the windows of one service. */
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

struct store;

/*
 * @service NULL: the services that have a window between @since_ns and @until_ns; else the
 * windows of one that overlap this range (0: no bound). Sessions are not listed. May read files
 * whose number of samples is not known yet, one at a time and no large ones: those of a file system
 * without extended attributes. Services are sorted by name, windows by time. Returns 0 or negative
 * errno.
 */
int listing_new(Profd__Control__Listing **ret, struct store *store, const char *service,
		uint64_t since_ns, uint64_t until_ns);
/* Frees all; takes NULL. */
void listing_free(Profd__Control__Listing *listing);
DEFINE_CLEANUP(Profd__Control__Listing *, listing_free)

#endif
