/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_BATCH_H
#define PROFD_OUTPUT_BATCH_H

/*
 * All files of one flush, which appear together:
 *
 *   1. batch_add() writes each under a temporary name in its directory;
 *   2. batch_commit() syncs the file system once, so that every byte is on the disk before any
 *      file has a name (unless all files came bit by bit and are there already);
 *   3. renames them: new files first, never over an existing one (RENAME_NOREPLACE; a name that is
 *      taken gets ".1", ".2" ...), then those that replace their older version;
 *   4. syncs the directories, so that the names are on the disk too.
 *
 * Killed at any point, no file is partial: what has no final name yet is removed at the next
 * start. Killed within step 3, some files of the flush exist and some do not; as new files come
 * first, image profiles then lack the window that the .pb.gz have, never the reverse, and nothing
 * is counted twice.
 *
 * An error before the first replacement takes everything back. From then on there is no way back,
 * because a replaced file's counts include the window: the rest is attempted, and what failed is
 * reported without the snapshot being given back (see struct batch_outcome).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/text_print.h"
#include "daemon/output/store.h"

struct batch_file {
	const char *dir; /* below the store, names escaped */
	const char *name;
	struct index_counts counts;
	const char *events; /* window_events.h; NULL: none */
	uid_t owner;        /* of a session, else STORE_NOBODY */
	bool has_share;     /* it takes the owner's share of the store */
	bool replace;       /* an image profile: replaces what is there */
};

struct batch_outcome {
	int error;     /* 0 or negative errno: the first thing that failed */
	bool is_final; /* files are in place, the window must not be written again */
};

struct batch;

/* @store is borrowed. */
int batch_new(struct batch **ret, struct store *store);
/* Removes what was not committed. Takes NULL. */
void batch_free(struct batch *batch);
DEFINE_CLEANUP(struct batch *, batch_free)

/* Writes one temporary file; texts and data are copied or written. 0 or negative errno. */
int batch_add(struct batch *batch, const struct batch_file *file, const uint8_t *data,
	      size_t length);
/*
 * The same incrementally, for background writers: batch_begin(), any number of batch_write(), which
 * start the disk at once, and batch_end(), which waits for it and for no other file. In between
 * nothing else may be added. 0 or negative errno, after which the file is gone.
 */
int batch_begin(struct batch *batch, const struct batch_file *file);
int batch_write(struct batch *batch, const uint8_t *data, size_t length);
int batch_end(struct batch *batch, struct index_counts counts);
/* Before batch_end(), with counts that say so: what happened. */
void batch_note_events(struct batch *batch, const char *events);
/* Before batch_end(), of a file that holds a day. */
void batch_note_hours(struct batch *batch, const struct index_counts hours[STORE_HOURS]);
/* The number of files so far; batch_rewind() takes back all files after that many. */
size_t batch_mark(const struct batch *batch);
void batch_rewind(struct batch *batch, size_t mark);
/* Bytes written so far. */
uint64_t batch_bytes(const struct batch *batch);

/* Steps 2 to 4. The index knows the files afterwards. */
struct batch_outcome batch_commit(struct batch *batch);
/* After batch_commit(): adds the absolute paths of the files in place. 0 or -ENOMEM. */
int batch_paths(const struct batch *batch, struct texts *ret);

#endif
