/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_INDEX_H
#define PROFD_OUTPUT_INDEX_H

/*
 * What the store holds, in memory: built once at start, kept up to date by every write and
 * deletion, so that neither retention nor `list` walks the tree. A shelf is one service or one
 * session; its files are in queues by format, oldest first. About 70 bytes a file.
 *
 * Memory only: knows no system call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "common/store/names.h"

#define INDEX_SAMPLES_UNKNOWN UINT64_MAX
#define INDEX_BLOCK           512u /* bytes; st_blocks counts in these */
#define INDEX_BLOCKS_MAX      0x07ffffffu
#define INDEX_PATH_SIZE       1024 /* of any path below the store */

/* The busiest second of a window, of the CPU time that is known to that exactness. */
struct index_peak {
	uint32_t cpu_ms; /* 0: not known */
	uint32_t at;     /* its begin, 100 ms after the window's */
};
#define INDEX_PEAK_AT_MAX 864000u /* a day */

/* What a window holds. */
struct index_counts {
	uint64_t
		samples; /* without waits beside them; or INDEX_SAMPLES_UNKNOWN: neither is known */
	uint64_t cpu_ns; /* CPU time; 0 if it counts other events */
	uint64_t off_ns; /* time that threads waited; 0: unknown, too */
	struct index_peak peak;
	bool has_events; /* STORE_EVENTS_ATTRIBUTE */
};

struct index_file {
	uint64_t start_s;
	struct index_counts counts;
	char *tail; /* owned; NULL: "pb.gz" */
	uint32_t seconds;
	uint32_t blocks : 27;
	/* Of roll-ups (rollup.c). */
	uint32_t stays : 2;  /* so many of their levels leave it alone */
	uint32_t failed : 1; /* its hour or day could not be written, and waits */
	uint32_t state : 2;  /* in the hour or day in work */
};

struct index_queue {
	struct index_file *files; /* by start; the live ones are [first, end) */
	size_t first, end, capacity;
	bool is_stuck; /* retention's: the file at an end could not be deleted in this run */
};

/* A user whose sessions have a share of the store, what they hold, and what his services do. */
struct index_payer {
	uid_t uid;
	uint64_t blocks, n_files;
	uint64_t service_blocks;
	UT_hash_handle hh;
};

/* The same, for those who show it. */
struct index_share {
	uid_t uid;
	uint64_t bytes, n_files;
};

struct index_shelf {
	char *dir;                 /* "services/<service>" or "sessions/<id>-<name>" */
	struct index_payer *payer; /* whose session or service it is; NULL: nobody's */
	bool is_session;
	bool is_behind; /* the last hour that was tried could not be rolled up */
	struct index_queue queues[N_CONTENTS_WINDOWS]; /* by format */
	UT_hash_handle hh;
};

struct index_epoch {
	char name[NAMES_EPOCH_SIZE];
	uint64_t begin_s;
	uint64_t blocks, n_files;
	bool is_stuck; /* as above */
};

struct index {
	struct index_shelf *shelves; /* hash by directory */
	struct index_payer *payers;  /* hash by user; they stay */
	struct index_epoch *epochs;  /* by begin */
	size_t n_epochs;
	uint64_t blocks, n_files;
};

void index_deinit(struct index *index);

/*
 * Directories are paths below the store. Finds or makes the shelf that @dir is, or lies in. Returns
 * 0 or negative errno.
 */
int index_shelf(struct index *index, const char *dir, struct index_shelf **ret);
/* Adds the window @name in @dir, if it is one and belongs there. Returns 0 or negative errno. */
int index_add(struct index *index, const char *dir, const char *name, uint64_t blocks,
	      struct index_counts counts);
/*
 * The same, in any order, for many: a shelf is in none until index_sort(). *ret: the queue that it
 * is the last of, or NULL; may be NULL.
 */
int index_append(struct index *index, const char *dir, const char *name, uint64_t blocks,
		 struct index_counts counts, struct index_queue **ret);
void index_sort(struct index_shelf *shelf);
/*
 * The file of this format that index_path() gives @path for, whatever that is, and its shelf; NULL:
 * there is none.
 */
const struct index_file *index_find_file(const struct index *index, enum contents_format format,
					 const char *path, struct index_shelf **ret_shelf);
/*
 * The file that the window at @path, which index_find_file() does not find, has become a part of;
 * NULL: none. *ret_start_s, *ret_end_s: its windows that begin from then to then are that one. Of
 * several of one start, the first has all of them.
 */
const struct index_file *index_find_rolled_up(const struct index *index, const char *path,
					      struct index_shelf **ret_shelf, uint64_t *ret_start_s,
					      uint64_t *ret_end_s);
/* From now on the shelf of @dir, if there is one, takes @uid's share. Returns 0 or -ENOMEM. */
int index_pay(struct index *index, const char *dir, uid_t uid);
/* Of users that have files, the @max with the most bytes, most first; returns how many. */
size_t index_shares(const struct index *index, struct index_share *ret, size_t max);
/*
 * Adds to what the epoch of @dir, its host's directory, holds; both may be negative as two's
 * complement. Returns 0 or negative errno.
 */
int index_add_image(struct index *index, const char *dir, uint64_t blocks, uint64_t n_files);
/* Removes the file @i of @queue, one of @shelf's; those in front of it may move. */
void index_remove(struct index *index, struct index_shelf *shelf, struct index_queue *queue,
		  size_t i);
/* An empty shelf is forgotten. Returns whether it was. */
bool index_drop_shelf(struct index *index, struct index_shelf *shelf);
void index_drop_epoch(struct index *index, size_t i);

static inline size_t index_queue_length(const struct index_queue *queue)
{
	return queue->end - queue->first;
}

static inline size_t index_shelf_length(const struct index_shelf *shelf)
{
	size_t n = 0;

	for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++)
		n += index_queue_length(&shelf->queues[i]);
	return n;
}

/* The .pb.gz files, which roll-ups and collections are about. */
static inline struct index_queue *index_pprof(struct index_shelf *shelf)
{
	return &shelf->queues[CONTENTS_PPROF];
}

static inline const char *index_tail(const struct index_file *file)
{
	return file->tail ? file->tail : "pb.gz";
}

/* Path of @file below the store; false if it does not fit (it does in INDEX_PATH_SIZE bytes). */
bool index_path(const struct index_shelf *shelf, const struct index_file *file, char *ret,
		size_t size);
/* The directory part of that path. */
bool index_dir_path(const struct index_shelf *shelf, uint64_t start_s, char *ret, size_t size);
/* Start of the oldest window or epoch, and end of the newest window; Unix time, 0: nothing there.
 */
void index_span(const struct index *index, uint64_t *ret_oldest, uint64_t *ret_newest);

#endif
