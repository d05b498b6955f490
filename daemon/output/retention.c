/* SPDX-License-Identifier: MIT */
#include "daemon/output/retention.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/error.h"

#define DAY_S 86400u

struct run {
	struct store *store;
	const struct retention_limits *limits;
	uint64_t now_s;
	uint64_t n_deleted;
};

/* How many of @queue's oldest files no rule protects. */
static size_t n_unprotected(const struct run *run, const struct index_shelf *shelf,
			    const struct index_queue *queue)
{
	uint32_t keep = run->limits->keep_windows;
	size_t n = index_queue_length(queue), i = queue->end;

	if (shelf->is_session)
		return n;
	if (queue == &shelf->windows)
		return n > keep ? n - keep : 0;
	if (index_queue_length(&shelf->windows))
		return n;
	/* Many legacy files make one window: those with one start. */
	for (uint32_t windows = 0; i > queue->first; i--) {
		if (i == queue->end || queue->files[i - 1].start_s != queue->files[i].start_s) {
			if (windows == keep)
				break;
			windows++;
		}
	}
	return i - queue->first;
}

/* Deletes the file @i of @queue, its first or its last, and the folders that are empty then. */
static int delete_file(struct run *run, struct index_shelf *shelf, struct index_queue *queue,
		       size_t i)
{
	const struct index_file *file = &queue->files[i];
	char path[STORE_PATH_SIZE], folder[STORE_PATH_SIZE];

	if (!index_path(shelf, file, path, sizeof(path)) ||
	    !index_folder(shelf, file->start_s, folder, sizeof(folder)))
		return error_origin(-ENAMETOOLONG);
	if (run->store->ops->unlink(run->store->fd, path, 0) < 0 && errno != ENOENT)
		return error_origin(-errno);
	if (i == queue->first)
		index_pop(&run->store->index, queue);
	else
		index_pop_last(&run->store->index, queue);
	run->n_deleted++;
	store_prune(run->store, folder);
	return 0;
}

static int delete_oldest(struct run *run, struct index_shelf *shelf, struct index_queue *queue)
{
	return delete_file(run, shelf, queue, queue->first);
}

static bool is_future(const struct run *run, uint64_t start_s)
{
	return start_s > run->now_s + DAY_S;
}

static bool is_older(const struct run *run, const struct index_file *file, uint64_t keep_s)
{
	uint64_t end_s = file->start_s + file->seconds;

	if (!keep_s || (run->limits->clock_is_doubtful && keep_s == run->limits->max_age_s))
		return false;
	return end_s < run->now_s && run->now_s - end_s > keep_s;
}

/* Deletes from the end of @queue what has come from a clock that was wrong, when that is old. */
static int expire_future(struct run *run, struct index_shelf *shelf, struct index_queue *queue)
{
	uint64_t age = run->limits->max_age_s;

	if (!age || run->limits->steady_s <= age)
		return 0;
	while (index_queue_length(queue) && is_future(run, queue->files[queue->end - 1].start_s) &&
	       n_unprotected(run, shelf, queue)) {
		int r = delete_file(run, shelf, queue, queue->end - 1);

		if (r)
			return r;
	}
	return 0;
}

/* Deletes from the front of @queue what is older than @keep_s. */
static int expire_queue(struct run *run, struct index_shelf *shelf, struct index_queue *queue,
			uint64_t keep_s)
{
	size_t n;

	if (!index_queue_length(queue) || !is_older(run, &queue->files[queue->first], keep_s))
		return 0;
	for (n = n_unprotected(run, shelf, queue); n; n--) {
		int r;

		if (!is_older(run, &queue->files[queue->first], keep_s))
			break;
		r = delete_oldest(run, shelf, queue);
		if (r)
			return r;
	}
	return 0;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

static int expire_windows(struct run *run)
{
	struct index *index = &run->store->index;
	struct index_shelf *shelf, *next;

	HASH_ITER (hh, index->shelves, shelf, next) {
		uint64_t age = run->limits->max_age_s;
		uint64_t legacy = shelf->is_session ? age
						    : shorter(run->limits->legacy_keep_s, age);
		int r;

		r = expire_queue(run, shelf, &shelf->windows, age);
		if (!r)
			r = expire_queue(run, shelf, &shelf->legacy, legacy);
		if (!r)
			r = expire_future(run, shelf, &shelf->windows);
		if (!r)
			r = expire_future(run, shelf, &shelf->legacy);
		index_drop_shelf(index, shelf);
		if (r)
			return r;
	}
	return 0;
}

/* How many epochs there are that a clock which was right has begun. */
static size_t n_real_epochs(const struct run *run)
{
	const struct index *index = &run->store->index;
	size_t n = index->n_epochs;

	while (n && is_future(run, index->epochs[n - 1].begin_s))
		n--;
	return n;
}

static int delete_epoch(struct run *run, size_t i)
{
	struct index *index = &run->store->index;
	char path[STORE_PATH_SIZE];
	int r;

	snprintf(path, sizeof(path), "images/%s", index->epochs[i].name);
	r = store_remove_tree(run->store, path);
	if (r)
		return r;
	index_drop_epoch(index, i);
	run->n_deleted++;
	return 0;
}

static int expire_epochs(struct run *run)
{
	const struct index *index = &run->store->index;
	uint64_t age = run->limits->max_age_s;
	int r = 0;

	while (!r && age && !run->limits->clock_is_doubtful &&
	       n_real_epochs(run) > RETENTION_EPOCHS_KEPT &&
	       index->epochs[0].begin_s + age < run->now_s)
		r = delete_epoch(run, 0);
	while (!r && age && run->limits->steady_s > age && n_real_epochs(run) < index->n_epochs)
		r = delete_epoch(run, index->n_epochs - 1);
	return r;
}

/* The oldest thing that may go: a queue's front, or an epoch (then *ret_queue is NULL). */
static bool find_oldest(struct run *run, struct index_shelf **ret_shelf,
			struct index_queue **ret_queue)
{
	struct index *index = &run->store->index;
	uint64_t oldest = UINT64_MAX;

	if (n_real_epochs(run) > RETENTION_EPOCHS_KEPT) {
		oldest = index->epochs[0].begin_s;
		*ret_queue = NULL;
	}
	for (struct index_shelf *shelf = index->shelves; shelf; shelf = shelf->hh.next) {
		struct index_queue *queues[] = {&shelf->legacy, &shelf->windows};

		for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
			struct index_queue *queue = queues[i];

			if (!index_queue_length(queue) ||
			    queue->files[queue->first].start_s >= oldest ||
			    !n_unprotected(run, shelf, queue))
				continue;
			oldest = queue->files[queue->first].start_s;
			*ret_shelf = shelf;
			*ret_queue = queue;
		}
	}
	return oldest != UINT64_MAX;
}

/* Whether size and free space are within the limits. An unknown free space is enough. */
static bool has_room(const struct run *run)
{
	const struct retention_limits *limits = run->limits;
	struct statvfs st;

	if (limits->max_size && run->store->index.blocks * INDEX_BLOCK > limits->max_size)
		return false;
	if (!limits->min_free || fstatvfs(run->store->fd, &st) < 0)
		return true;
	return (uint64_t)st.f_bavail * st.f_frsize >= limits->min_free;
}

static int make_room(struct run *run, uint64_t need)
{
	uint64_t before = run->store->index.blocks;

	while ((before - run->store->index.blocks) * INDEX_BLOCK < need || !has_room(run)) {
		struct index_shelf *shelf = NULL;
		struct index_queue *queue = NULL;
		int r;

		if (!find_oldest(run, &shelf, &queue))
			return 0;
		if (!queue) {
			r = delete_epoch(run, 0);
		} else {
			r = delete_oldest(run, shelf, queue);
			index_drop_shelf(&run->store->index, shelf);
		}
		if (r)
			return r;
	}
	return 0;
}

int retention_run(struct store *store, const struct retention_limits *limits, uint64_t now_s,
		  uint64_t need, uint64_t *ret_n)
{
	struct run run = {.store = store, .limits = limits, .now_s = now_s};
	int r;

	r = expire_windows(&run);
	if (!r)
		r = expire_epochs(&run);
	if (!r)
		r = make_room(&run, need);
	if (ret_n)
		*ret_n = run.n_deleted;
	return r;
}
