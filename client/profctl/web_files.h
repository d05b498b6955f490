/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_WEB_FILES_H
#define PROFD_PROFCTL_WEB_FILES_H

/*
 * Profiles of any format become a store, as profd would have written it: each is a service,
 * file:NAME, with one window, of the time that it says it is of, else of that of its file.
 */
#include <stddef.h>

#include "client/profctl/profctl.h"

/*
 * Makes the store in @directory, which is empty, of what `report` would read at each of @paths.
 * Returns 0, or an exit status after a complaint.
 */
int web_files_store(const struct context *context, const char *const *paths, size_t n,
		    const char *directory);

#endif
