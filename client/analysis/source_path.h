/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_SOURCE_PATH_H
#define PROFD_CLIENT_ANALYSIS_SOURCE_PATH_H

/*
 * What reports make of the names of source files, which are those of the machine that compiled: as
 * `go tool pprof` does it, so that the same lines are one line in both. Pure.
 */

/*
 * @path without what stands before the part that the reader knows, inside of @path. @trim_path is
 * a list of directories (with `:`) that are taken off its front; where it is NULL or empty, @path
 * is cut behind the last part of one of the directories of @source_path (NULL: none) if that occurs
 * in it.
 * "/proc/self/cwd" is taken off at any rate: the name that build systems give their directory.
 */
const char *source_path_trim(const char *path, const char *trim_path, const char *source_path);

/*
 * The shortest name that says the same by its text alone: no `.`, no `//`, no `..` that can be
 * resolved, no slash at the end; "." for nothing. malloc'ed, or NULL without memory.
 */
char *source_path_clean(const char *path);

#endif
