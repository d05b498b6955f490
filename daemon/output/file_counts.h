/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_FILE_COUNTS_H
#define PROFD_OUTPUT_FILE_COUNTS_H

/*
 * What a stored file holds. The index knows it but for files of an earlier profd: there it is read
 * from the file's attribute, or from the file, when it is first asked for.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/output/index.h"
#include "daemon/output/store.h"

/* In one answer. All zero but for the store. */
struct file_counts {
	struct store *store;
	unsigned n_read;
	uint64_t n_unread; /* files whose counts stay unknown, because many were read */
};

/* Fills file->counts, unless many files were read. 0 or negative errno. */
int file_counts_know(struct file_counts *c, const char *path, unsigned format,
		     struct index_file *file);
/* What the attributes of @path say; false: nothing. */
bool file_counts_read(const struct store *store, const char *path, struct index_counts *ret);
/* What happened, malloc'ed; NULL: it has no events. */
char *file_counts_events(const struct store *store, const char *path);
/* What the hours of a day's file hold. False: it is none, or they are not known. */
bool file_counts_find_hours(const struct file_counts *c, const char *path,
			    const struct index_file *file, struct index_counts ret[STORE_HOURS]);

#endif
