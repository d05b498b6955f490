/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROGRAM_PATH_H
#define PROFD_COMMON_PROGRAM_PATH_H

/* Where the project's programs lie that others of them start. */

/*
 * The path of @program, malloc'ed: what $@variable names (secure_getenv(3)), else the one next to
 * our own executable if there is one, else the one in PROFD_LIBEXECDIR. Returns 0 or -ENOMEM.
 */
int program_path(const char *variable, const char *program, char **ret);

/*
 * The same for @library: what $@variable names, else the one in ../lib of our executable's
 * directory if there is one, else the one in PROFD_LIBDIR.
 */
int library_path(const char *variable, const char *library, char **ret);

#endif
