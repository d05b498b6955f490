/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_NAME_FILTER_H
#define PROFD_TOP_NAME_FILTER_H

/* Which names are meant by a text that somebody types. Pure. */
#include <stdbool.h>

/*
 * @name contains @filter ("": always). Case matters if there is a capital in @filter: it is typed
 * on purpose. Which letters have case: characters.h.
 */
bool name_filter_matches(const char *filter, const char *name);

#endif
