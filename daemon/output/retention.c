/* SPDX-License-Identifier: MIT */
/*
 * Everything that may go is at an end of something sorted: a queue's first file is its oldest, its
 * last one may be from the future, and so with epochs. Age is looked at queue by queue; for room
 * the oldest of all ends goes, again and again, first of what no rule protects, then, if the store
 * is still too big, of the rest. What cannot be deleted is marked as stuck for this run.
 */
#include "daemon/output/retention.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/error.h"

#define DAY_S 86400u

struct retention_run {
	struct store *store;
	const struct retention_limits *limits;
	uint64_t now_s;
	uint64_t n_deleted;
	uint64_t blocks; /* of the index, at the beginning */
	bool takes_protected;
	int error; /* the first one */
};

static bool retention_fail(struct retention_run *run, int error, bool *is_stuck)
{
	if (!run->error)
		run->error = error;
	*is_stuck = true;
	return false;
}

/* Whether the rest is for the next call. */
static bool retention_is_at_limit(const struct retention_run *run)
{
	return run->limits->max_deleted && run->n_deleted >= run->limits->max_deleted;
}

/* The queue that a service keeps the newest windows of: the first one that holds any. */
static const struct index_queue *find_kept_queue(const struct index_shelf *shelf)
{
	unsigned i = 0;

	while (i < N_CONTENTS_WINDOWS - 1 && !index_queue_length(&shelf->queues[i]))
		i++;
	return &shelf->queues[i];
}

/* Whether the last file of @queue, which has one, says that its service was there lately. */
static bool retention_is_live(const struct retention_run *run, const struct index_queue *queue)
{
	const struct index_file *last = &queue->files[queue->end - 1];

	return last->start_s + last->seconds + RETENTION_LIVES_S > run->now_s;
}

/* How many of @queue's oldest files may go for room. */
static size_t count_unprotected(const struct retention_run *run, const struct index_shelf *shelf,
				const struct index_queue *queue)
{
	const struct index_file *files = queue->files;
	const bool many = contents_formats[queue - shelf->queues].has_stem;
	size_t i = queue->end;

	if (shelf->is_session || run->takes_protected || queue != find_kept_queue(shelf) ||
	    i == queue->first || !retention_is_live(run, queue))
		return index_queue_length(queue);
	/* Where a window is many files, they have one start. */
	for (uint32_t windows = 0; i > queue->first; i--) {
		if (many && i < queue->end && files[i - 1].start_s == files[i].start_s)
			continue;
		if (windows++ == run->limits->keep_windows)
			break;
	}
	return i - queue->first;
}

/*
 * Deletes the file @i of @queue, its first or its last, and the directories that are empty then.
 * False: it could not, and leaves the queue alone for the rest of this run.
 */
static bool delete_file(struct retention_run *run, struct index_shelf *shelf,
			struct index_queue *queue, size_t i)
{
	const struct index_file *file = &queue->files[i];
	char path[STORE_PATH_SIZE], dir[STORE_PATH_SIZE];

	if (!index_path(shelf, file, path, sizeof(path)) ||
	    !index_dir_path(shelf, file->start_s, dir, sizeof(dir)))
		return retention_fail(run, error_origin(-ENAMETOOLONG), &queue->is_stuck);
	if (store_unlink(run->store, path, 0) < 0 && errno != ENOENT)
		return retention_fail(run, error_origin(-errno), &queue->is_stuck);
	index_remove(&run->store->index, shelf, queue, i);
	run->n_deleted++;
	store_prune(run->store, dir);
	return true;
}

static bool retention_is_future(const struct retention_run *run, uint64_t start_s)
{
	return start_s > run->now_s + DAY_S;
}

static bool retention_is_older(const struct retention_run *run, const struct index_file *file,
			       uint64_t keep_s)
{
	uint64_t end_s = file->start_s + file->seconds;

	if (!keep_s || (run->limits->clock_is_doubtful && keep_s == run->limits->max_age_s))
		return false;
	return end_s < run->now_s && run->now_s - end_s > keep_s;
}

/* Deletes from the end of @queue what has come from a clock that was wrong, when that is old. */
static void expire_future(struct retention_run *run, struct index_shelf *shelf,
			  struct index_queue *queue)
{
	uint64_t age = run->limits->max_age_s;

	if (!age || run->limits->steady_s <= age)
		return;
	while (!retention_is_at_limit(run) && index_queue_length(queue) &&
	       retention_is_future(run, queue->files[queue->end - 1].start_s))
		if (!delete_file(run, shelf, queue, queue->end - 1))
			return;
}

/* Deletes from the front of @queue what is older than @keep_s. */
static void expire_queue(struct retention_run *run, struct index_shelf *shelf,
			 struct index_queue *queue, uint64_t keep_s)
{
	while (!retention_is_at_limit(run) && index_queue_length(queue) &&
	       retention_is_older(run, &queue->files[queue->first], keep_s))
		if (!delete_file(run, shelf, queue, queue->first))
			return;
}

/* For how long files of @format are kept; 0: whatever their age. */
static uint64_t age_limit(const struct retention_run *run, const struct index_shelf *shelf,
			  unsigned format)
{
	uint64_t age = run->limits->max_age_s, legacy = run->limits->legacy_keep_s;

	if (format != CONTENTS_LEGACY || shelf->is_session || !legacy)
		return age;
	return !age || legacy < age ? legacy : age;
}

static void expire_windows(struct retention_run *run)
{
	struct index *index = &run->store->index;
	struct index_shelf *shelf, *next;

	HASH_ITER (hh, index->shelves, shelf, next) {
		for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++) {
			shelf->queues[i].is_stuck = false;
			expire_queue(run, shelf, &shelf->queues[i], age_limit(run, shelf, i));
		}
		for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++)
			expire_future(run, shelf, &shelf->queues[i]);
		index_drop_shelf(index, shelf);
	}
}

/* How many epochs there are that a clock which was right has begun. */
static size_t count_real_epochs(const struct retention_run *run)
{
	const struct index *index = &run->store->index;
	size_t n = index->n_epochs;

	while (n && retention_is_future(run, index->epochs[n - 1].begin_s))
		n--;
	return n;
}

/* Whether the epoch @i is none of those that stay. */
static bool may_delete_epoch(const struct retention_run *run, size_t i)
{
	return i + RETENTION_EPOCHS_KEPT < count_real_epochs(run);
}

/* Like delete_file(). */
static bool delete_epoch(struct retention_run *run, size_t i)
{
	struct index *index = &run->store->index;
	char path[STORE_PATH_SIZE];
	int r;

	snprintf(path, sizeof(path), "images/%s", index->epochs[i].name);
	r = store_remove_tree(run->store, path);
	if (r)
		return retention_fail(run, r, &index->epochs[i].is_stuck);
	index_drop_epoch(index, i);
	run->n_deleted++;
	return true;
}

static void expire_epochs(struct retention_run *run)
{
	const struct index *index = &run->store->index;
	uint64_t age = run->limits->max_age_s;
	size_t i = 0;

	for (i = 0; i < index->n_epochs; i++)
		index->epochs[i].is_stuck = false;
	for (i = 0; age && !retention_is_at_limit(run) && !run->limits->clock_is_doubtful &&
		    may_delete_epoch(run, i) && index->epochs[i].begin_s + age < run->now_s;)
		i += !delete_epoch(run, i);
	if (!age || run->limits->steady_s <= age)
		return;
	for (i = index->n_epochs; i > count_real_epochs(run) && !retention_is_at_limit(run); i--)
		delete_epoch(run, i - 1);
}

/* The oldest thing that may go: a queue's front, or an epoch (then queue is NULL). */
struct oldest {
	struct index_shelf *shelf;
	struct index_queue *queue;
	size_t epoch;
};

/* @payer: whose alone, or whose sessions' alone; NULL: of everything. */
static bool retention_find_oldest(struct retention_run *run, const struct index_payer *payer,
				  bool only_sessions, struct oldest *ret)
{
	struct index *index = &run->store->index;
	uint64_t oldest = UINT64_MAX;
	size_t i = 0;

	*ret = (struct oldest){0};
	while (may_delete_epoch(run, i) && index->epochs[i].is_stuck)
		i++;
	if (!payer && may_delete_epoch(run, i)) {
		oldest = index->epochs[i].begin_s;
		ret->epoch = i;
	}
	for (struct index_shelf *shelf = index->shelves; shelf; shelf = shelf->hh.next) {
		if ((payer && shelf->payer != payer) || (only_sessions && !shelf->is_session))
			continue;
		/* Of one age, what says the same in less detail goes first. */
		for (i = N_CONTENTS_WINDOWS; i--;) {
			struct index_queue *queue = &shelf->queues[i];

			if (!index_queue_length(queue) || queue->is_stuck ||
			    queue->files[queue->first].start_s >= oldest ||
			    !count_unprotected(run, shelf, queue))
				continue;
			oldest = queue->files[queue->first].start_s;
			ret->shelf = shelf;
			ret->queue = queue;
		}
	}
	return oldest != UINT64_MAX;
}

static bool retention_is_too_big(const struct retention_run *run)
{
	uint64_t max = run->limits->max_size;

	return max && run->store->index.blocks * INDEX_BLOCK > max;
}

/* Whether size and free space are within the limits. An unknown free space is enough. */
static bool retention_has_room(const struct retention_run *run)
{
	const struct retention_limits *limits = run->limits;
	uint64_t unfreed = limits->is_dry_run ? run->blocks - run->store->index.blocks : 0;
	struct statvfs st;

	if (retention_is_too_big(run))
		return false;
	if (!limits->min_free || fstatvfs(run->store->fd, &st) < 0)
		return true;
	return (uint64_t)st.f_bavail * st.f_frsize + unfreed * INDEX_BLOCK >= limits->min_free;
}

struct index_share retention_share_max(const struct retention_limits *limits)
{
	return (struct index_share){.bytes = limits->payer_bytes,
				    .n_files = limits->payer_bytes / RETENTION_FILE_BYTES};
}

static bool payer_has_room(const struct retention_run *run, const struct index_payer *payer)
{
	const struct index_share max = retention_share_max(run->limits);

	return !max.bytes || payer->n_files <= 1 ||
	       (payer->blocks * INDEX_BLOCK <= max.bytes && payer->n_files <= max.n_files);
}

/* The oldest windows of those who have more than their share go, but for the last one. */
static void retention_hold_payers(struct retention_run *run)
{
	struct index *index = &run->store->index;
	struct oldest oldest;

	for (const struct index_payer *payer = index->payers; payer; payer = payer->hh.next)
		while (!retention_is_at_limit(run) && !payer_has_room(run, payer) &&
		       retention_find_oldest(run, payer, true, &oldest)) {
			delete_file(run, oldest.shelf, oldest.queue, oldest.queue->first);
			index_drop_shelf(index, oldest.shelf);
		}
}

/* Whose sessions and services take most, if that is more than a share; NULL: nobody's. */
static const struct index_payer *retention_largest_payer(const struct retention_run *run)
{
	uint64_t most = run->limits->payer_bytes / INDEX_BLOCK;
	const struct index_payer *largest = NULL, *payer;

	for (payer = run->store->index.payers; payer && most; payer = payer->hh.next) {
		const uint64_t blocks = payer->blocks + payer->service_blocks;

		/* Of a user's own profd all is that user's. */
		if (blocks <= most || payer->uid == geteuid())
			continue;
		most = blocks;
		largest = payer;
	}
	return largest;
}

static bool retention_find_next(struct retention_run *run, struct oldest *ret)
{
	const struct index_payer *largest = retention_largest_payer(run);

	return (largest && retention_find_oldest(run, largest, false, ret)) ||
	       retention_find_oldest(run, NULL, false, ret);
}

static void retention_make_room(struct retention_run *run, uint64_t need)
{
	uint64_t before = run->store->index.blocks;
	struct oldest oldest;

	while (!retention_is_at_limit(run) &&
	       ((before - run->store->index.blocks) * INDEX_BLOCK < need ||
		!retention_has_room(run))) {
		if (!retention_find_next(run, &oldest)) {
			if (run->takes_protected || !retention_is_too_big(run))
				return;
			run->takes_protected = true;
			continue;
		}
		if (!oldest.queue) {
			delete_epoch(run, oldest.epoch);
			continue;
		}
		delete_file(run, oldest.shelf, oldest.queue, oldest.queue->first);
		index_drop_shelf(&run->store->index, oldest.shelf);
		run->takes_protected &= retention_is_too_big(run);
	}
}

int retention_run(struct store *store, const struct retention_limits *limits, uint64_t now_s,
		  uint64_t need, uint64_t *ret_n)
{
	struct retention_run run = {
		.store = store, .limits = limits, .now_s = now_s, .blocks = store->index.blocks};

	expire_windows(&run);
	expire_epochs(&run);
	retention_hold_payers(&run);
	retention_make_room(&run, need);
	if (ret_n)
		*ret_n = run.n_deleted;
	return run.error;
}
