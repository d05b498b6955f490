/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CODE_SOURCE_FILE_H
#define PROFD_CODE_SOURCE_FILE_H

/*
 * Source files for annotation, found as `go tool pprof` finds them. Their names come from debug
 * information, which strangers wrote: only regular files are opened (client/symbolize/files.h).
 */
#include <stddef.h>
#include <stdint.h>

#include "client/symbolize/files.h"
#include "common/cleanup.h"

struct source_files;

/*
 * @source_path: directories, `:` between them; NULL: the working directory. @trim_path: see
 * client/analysis/source_path.h. All are borrowed. Returns 0 or negative errno.
 */
int source_files_new(struct source_files **ret, const struct files *files, const char *source_path,
		     const char *trim_path);
void source_files_free(struct source_files *s);
DEFINE_CLEANUP(struct source_files *, source_files_free)

struct source_file {
	char *name;      /* as it was asked for */
	const char *why; /* why there are no lines; NULL: there are */
	size_t n_lines;
	uint32_t *lines; /* where they begin in `data`; line 1 is lines[0] */
	char *data;      /* a NUL at the end of each line */
};

/* Takes one that is all zero. */
void source_file_deinit(struct source_file *file);
/*
 * Reads all of @fd, at most @max bytes, into *file, which is all zero but for its name. One that
 * cannot be read has no lines. Returns 0 or negative errno.
 */
int source_file_read(struct source_file *file, int fd, size_t max);

/*
 * The file that debug information calls @name; borrowed until the next call. A file that is not to
 * be had has no lines. Blocks on the disk. Returns 0 or negative errno.
 */
int source_files_get(struct source_files *s, const char *name, const struct source_file **ret);
/*
 * Opens it alone: the caller's fd; or -1, and why not in *ret_why, a text for people. Blocks on the
 * disk.
 */
int source_files_open(const struct source_files *s, const char *name, const char **ret_why);
/* NULL where there is no such line. */
const char *source_file_line(const struct source_file *file, uint64_t line);

/*
 * Which lines are shown because of one with samples: from the first of its function, if that is
 * known (not 0), else some lines before it; to some behind it.
 */
int64_t source_lines_from(int64_t line, int64_t function_line);
int64_t source_lines_until(int64_t line);

#endif
