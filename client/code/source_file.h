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

/*
 * The file that debug information calls @name; borrowed until the next call. A file that is not to
 * be had has no lines. Blocks on the disk. Returns 0 or negative errno.
 */
int source_files_get(struct source_files *s, const char *name, const struct source_file **ret);
/* NULL where there is no such line. */
const char *source_file_line(const struct source_file *file, uint64_t line);

#endif
