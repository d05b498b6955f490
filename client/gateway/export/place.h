/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_PLACE_H
#define PROFD_CLIENT_GATEWAY_EXPORT_PLACE_H

/* A stored window, by its path below the store: "services/S/DAY/FILE" (profd-store(5)). Pure. */
#include <stdbool.h>
#include <stddef.h>

#include "common/store/names.h"

#define PLACE_PATH_MAX 600u /* bytes of one */

/* Points into the path. */
struct place {
	const char *service, *file; /* the first: its directory's name, not ended */
	size_t service_length;
	struct names_window window;
	uint64_t end_s; /* Unix time */
};

/* False: it is none. */
bool place_parse(const char *path, struct place *ret);
/*
 * The order in which windows of a service are sent: by their end, the shortest first, so that what
 * was rolled up comes behind the windows that it is made of. Negative, 0 or positive.
 */
int place_compare(const struct place *a, const struct place *b);

#endif
