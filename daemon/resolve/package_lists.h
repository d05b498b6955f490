/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PACKAGE_LISTS_H
#define PROFD_RESOLVE_PACKAGE_LISTS_H

/*
 * Which package has installed a file, by dpkg's lists: /var/lib/dpkg/info/NAME.list has a line for
 * each path. Thousands of files that a stranger may have written are compared with what is looked
 * for, and nothing else is made of them; so that can be done by the process that opens them
 * (file_opener.h), and only what was found needs to be handed on. Async-signal-safe; takes no
 * memory.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/line_reader.h"

#define PACKAGE_LISTS_PATHS_MAX 64u

/* Paths that are looked for. */
struct package_paths {
	struct span all[PACKAGE_LISTS_PATHS_MAX];
	size_t n;
	bool has_length[64]; /* of some of them, modulo 64 */
};

/* @lines: a path each, borrowed; those after PACKAGE_LISTS_PATHS_MAX are left out. */
void package_paths_set(struct package_paths *p, const char *lines);
bool package_paths_has(const struct package_paths *p, struct span line);

/*
 * Appends "NAME.list<tab>PATH" to @to, a line for each of @paths that a list in the directory
 * @dir_fd has; a path can be in several. Other names than of packages, and what is no regular file,
 * are left out. @cross_mounts: as in debug_files.h. Blocks for the disk. 0 or -errno.
 */
int package_lists_search(int dir_fd, bool cross_mounts, const char *paths, int to);

/* Takes a line of the above from *text. False: there is none, or one that is not of that form. */
bool package_lists_take(struct span *text, struct span *ret_package, struct span *ret_path);

#endif
