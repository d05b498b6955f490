/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SOURCES_H
#define PROFD_REPORT_SOURCES_H

/*
 * Which files a report is of: files as they are named, those in directories, windows of the store,
 * and what is at a URL (source_url.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/report/load.h"
#include "client/report/source_url.h"
#include "common/profile/pprof.h" /* struct profile_message */

struct source {
	char *path;             /* owned; of a URL, what may be shown of it */
	struct source_url *url; /* owned; NULL: it is a file */
	int fd;                 /* owned: what was fetched, or else -1 */
	/* It was found, not named, or is one of several: what is no profile is passed over. */
	bool is_found;
	bool is_missing; /* it could not be fetched */
	/* Of the store, and in the range as a whole; else its windows have to be looked at. */
	bool is_whole;
};

/* All zero is empty. */
struct sources {
	struct source *all;
	size_t n, capacity;
	size_t n_double;  /* legacy windows in directories that hold the same as profile.proto */
	size_t n_too_far; /* files and directories whose path is too long, or that lie too deep */
	struct source_url_times times; /* of the URLs that are added */
};

void sources_deinit(struct sources *s);
/* Those that could not be fetched are none any more. How many that were. */
size_t sources_drop_missing(struct sources *s);
/*
 * A file, all files below a directory, by name, or a URL, unless there is a file of that name;
 * nothing is fetched. REPORT_E_* or negative errno.
 */
int sources_add(struct sources *s, const char *path, struct profile_message *message);
/*
 * What of the store is @wanted: windows that overlap the range, and the open ones. Takes over its
 * fd. REPORT_E_* or negative errno.
 */
int sources_add_stored(struct sources *s, struct load_stored *wanted,
		       struct profile_message *message);

/* Puts @path, or its end, before the message of @r, unless that is a negative errno. Returns @r. */
int sources_name_file(const char *path, int r, struct profile_message *message);

#endif
