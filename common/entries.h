/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_ENTRIES_H
#define PROFD_COMMON_ENTRIES_H

/* The names in a directory, sorted. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "common/error.h"

/* All zero has none. */
struct entries {
	struct dirent **all;
	int n;
};

static inline void entries_deinit(struct entries *e)
{
	for (int i = 0; i < e->n; i++)
		free(e->all[i]);
	free(e->all);
}

/*
 * @is_wanted, @compare: as scandir(3) takes them. 0, -ENOMEM or a positive errno, and then there
 * are none.
 */
static inline int entries_read(struct entries *ret, const char *path,
			       int (*is_wanted)(const struct dirent *),
			       int (*compare)(const struct dirent **, const struct dirent **))
{
	int n = scandir(path, &ret->all, is_wanted, compare);

	ret->n = n < 0 ? 0 : n;
	return n < 0 ? error_outcome(errno) : 0;
}

/* For @is_wanted: what is hidden is being written. */
static inline int entries_is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

#endif
