/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_DEBUG_PACKAGE_H
#define PROFD_SYMBOLIZE_DEBUG_PACKAGE_H

/*
 * Which Debian package has the debug information of a file: that of the package that the file is
 * from, by the lists of files that dpkg(1) keeps in /var/lib/dpkg/info, each a file
 * PACKAGE[:ARCHITECTURE].list with a path per line.
 */

/*
 * The name of the debug package of @path, a file of the host whose root directory is @root_fd:
 * malloc'ed, the caller's. NULL if no package has the file, or the lists cannot be read. Reads all
 * lists, some MB, and executes nothing.
 */
char *debug_package_of_file(int root_fd, const char *path);

#endif
