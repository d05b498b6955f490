/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_PROFILE_FILE_H
#define PROFD_SYMBOLIZE_PROFILE_FILE_H

/* Files of the user's, written whole or not at all. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/profile/pprof.h" /* struct profile_message */

enum {
	PROFILE_FILE_E_OK,
	PROFILE_FILE_E_FAILED, /* the message says why */
	PROFILE_FILE_E_EXISTS, /* so does it: there is a file of that name, and it was to be new */
};

/*
 * Writes @data to @path: under a temporary name beside it, then renamed, with the mode that the
 * umask leaves. What is there and no regular file is written to
 * (common/own_file.h); if it must be @is_new, nothing may be there. Returns PROFILE_FILE_E_*.
 */
int profile_file_save(const char *path, const uint8_t *data, size_t length, bool is_new,
		      struct profile_message *message);

/*
 * The same of what is not held in memory: written to `out`, whose errors profile_file_end() looks
 * for. Until then it has no name, and is gone if the program ends.
 * Unless @keep nothing of it is left, but in what is no regular file. Each begun one must be ended.
 * Returns PROFILE_FILE_E_*.
 */
struct profile_file_saving {
	FILE *out;
	const char *path;         /* borrowed */
	char temporary[PATH_MAX]; /* "": it has none yet */
	bool is_special, is_new;
	bool is_copied; /* at the end: its file system has no files without names */
};

int profile_file_begin(struct profile_file_saving *ret, const char *path,
		       struct profile_message *message);
int profile_file_end(struct profile_file_saving *s, bool keep, struct profile_message *message);

#endif
