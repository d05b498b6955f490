/* SPDX-License-Identifier: MIT */
#include "daemon/output/rollup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/windows.h"
#include "daemon/output/batch.h"

#define FILE_MAX   ((size_t)64 << 20) /* of a compressed file */
#define GZIP_LEVEL 6

/* A file by what the index knows it by: where it stands there may change between steps. */
struct minute {
	uint64_t start_s;
	uint32_t seconds;
	bool merged;
	char *tail;
};

struct rollup {
	struct store *store;
	size_t max_bytes;
	/* The hour in work. */
	char *folder; /* the shelf's; NULL: there is none */
	uint64_t hour_s;
	struct minute *minutes;
	size_t n_minutes, n_merged, next;
	struct merge *merge;
	char path[STORE_PATH_SIZE];
};

int rollup_new(struct rollup **ret, struct store *store, size_t max_bytes)
{
	struct rollup *r = calloc(1, sizeof(*r));

	if (!r)
		return error_origin(-ENOMEM);
	r->store = store;
	r->max_bytes = max_bytes;
	*ret = r;
	return 0;
}

void rollup_reset(struct rollup *r)
{
	for (size_t i = 0; i < r->n_minutes; i++)
		free(r->minutes[i].tail);
	free(r->minutes);
	free(r->folder);
	merge_free(r->merge);
	r->minutes = NULL;
	r->folder = NULL;
	r->merge = NULL;
	r->n_minutes = r->n_merged = r->next = 0;
}

void rollup_free(struct rollup *r)
{
	if (!r)
		return;
	rollup_reset(r);
	free(r);
}

const char *rollup_path(const struct rollup *r)
{
	return r->path;
}

static uint64_t hour_of(const struct index_file *file)
{
	return file->start_s - file->start_s % INDEX_HOUR_S;
}

static bool is_minute(const struct index_file *file)
{
	return !file->stays && file->seconds < INDEX_HOUR_S;
}

static struct index_shelf *find_shelf(const struct rollup *r)
{
	struct index_shelf *shelf;

	HASH_FIND_STR(r->store->index.shelves, r->folder, shelf);
	return shelf;
}

/* Where @minute stands in @queue, or queue->end. */
static size_t find_file(const struct index_queue *queue, const struct minute *minute)
{
	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file *file = &queue->files[i];

		if (file->start_s == minute->start_s && file->seconds == minute->seconds &&
		    strcmp(index_tail(file), minute->tail) == 0)
			return i;
	}
	return queue->end;
}

static int read_profile(const struct rollup *r, const char *path, size_t max_bytes,
			struct profile **ret)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int e = store_read(r->store->fd, path, FILE_MAX, &data, &length);

	return e ? e : pprof_read(data, length, max_bytes, ret, &message);
}

/* --- which hour ------------------------------------------------------------------------------- */

static int take_hour(struct rollup *r, const struct index_shelf *shelf, size_t first, size_t n)
{
	r->folder = strdup(shelf->folder);
	r->minutes = calloc(n, sizeof(*r->minutes));
	if (!r->folder || !r->minutes)
		return error_origin(-ENOMEM);
	r->hour_s = hour_of(&shelf->windows.files[first]);
	for (size_t i = first; r->n_minutes < n; i++) {
		const struct index_file *file = &shelf->windows.files[i];
		struct minute *minute = &r->minutes[r->n_minutes];

		if (!is_minute(file))
			continue;
		*minute = (struct minute){.start_s = file->start_s,
					  .seconds = file->seconds,
					  .tail = strdup(index_tail(file))};
		if (!minute->tail)
			return error_origin(-ENOMEM);
		r->n_minutes++;
	}
	return merge_new(&r->merge, MERGE_WINDOWS_SET);
}

/* The first hour of @shelf that has several small files; false: none. */
static bool find_in_shelf(const struct index_shelf *shelf, uint64_t until_s, size_t *ret_first,
			  size_t *ret_n)
{
	const struct index_queue *queue = &shelf->windows;
	size_t n = 0;

	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file *file = &queue->files[i];

		if (n && hour_of(file) != hour_of(&queue->files[*ret_first])) {
			if (n > 1)
				break;
			n = 0;
		}
		if (hour_of(file) + INDEX_HOUR_S > until_s)
			break;
		if (!is_minute(file))
			continue;
		if (!n++)
			*ret_first = i;
	}
	*ret_n = n;
	return n > 1;
}

static int find_hour(struct rollup *r, uint64_t until_s)
{
	for (const struct index_shelf *s = r->store->index.shelves; s; s = s->hh.next) {
		size_t first = 0, n;

		if (!s->is_session && find_in_shelf(s, until_s, &first, &n))
			return take_hour(r, s, first, n);
	}
	return ROLLUP_E_IDLE;
}

/* --- merging ---------------------------------------------------------------------------------- */

/* The next small file joins the hour. */
static int merge_next(struct rollup *r, struct index_shelf *shelf)
{
	struct minute *minute = &r->minutes[r->next++];
	cleanup(profile_freep) struct profile *profile = NULL;
	struct index_queue *queue = &shelf->windows;
	size_t i = find_file(queue, minute);
	struct profile_message message;
	int e;

	if (i == queue->end)
		return ROLLUP_E_OK; /* collected meanwhile */
	if (!index_path(shelf, &queue->files[i], r->path, sizeof(r->path)))
		return error_origin(-ENAMETOOLONG);
	e = read_profile(r, r->path, r->max_bytes, &profile);
	if (e == -ENOMEM)
		return e;
	if (e) {
		queue->files[i].stays = true;
		return e == -ENOENT ? ROLLUP_E_OK : ROLLUP_E_DAMAGED;
	}
	e = merge_add(r->merge, profile, NULL, NULL, &message);
	if (e < 0)
		return e;
	/* Of another event than the first one: waits for its own kind. */
	if (e == MERGE_E_OK) {
		minute->merged = true;
		r->n_merged++;
	}
	return ROLLUP_E_OK;
}

/* The file of an hour is there: what went into it goes. */
static int remove_minutes(struct rollup *r, struct index_shelf *shelf)
{
	int first = 0;

	for (size_t i = 0; i < r->n_minutes; i++) {
		struct index_queue *queue = &shelf->windows;
		size_t at = find_file(queue, &r->minutes[i]);

		if (!r->minutes[i].merged || at == queue->end)
			continue;
		if (!index_path(shelf, &queue->files[at], r->path, sizeof(r->path)))
			continue;
		/* One that stays is counted no more; the next start tries again. */
		if (r->store->ops->unlink(r->store->fd, r->path, 0) < 0 && errno != ENOENT &&
		    !first)
			first = error_origin(-errno);
		index_remove(&r->store->index, queue, at);
	}
	return first;
}

static int write_hour(struct rollup *r, struct index_shelf *shelf)
{
	const struct names_window window = {.start_s = r->hour_s,
					    .seconds = INDEX_HOUR_S,
					    .tail = "pb.gz"};
	cleanup(batch_freep) struct batch *batch = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile *profile = merge_profile(r->merge);
	char folder[STORE_PATH_SIZE], name[64];
	struct batch_file file = {.folder = folder, .name = name, .owner = STORE_NOBODY};
	struct batch_outcome outcome;
	size_t length;
	int e;

	if (!index_folder(shelf, r->hour_s, folder, sizeof(folder)) ||
	    !names_window(&window, name, sizeof(name)))
		return error_origin(-ENAMETOOLONG);
	file.samples = (uint64_t)profile_total(profile, 0);
	e = merge_finish(r->merge);
	if (!e)
		e = pprof_write(profile, GZIP_LEVEL, &data, &length);
	if (!e)
		e = batch_new(&batch, r->store);
	if (!e)
		e = batch_add(batch, &file, data, length);
	if (e)
		return e;
	outcome = batch_commit(batch);
	if (!outcome.is_final)
		return outcome.error;
	e = remove_minutes(r, shelf);
	return outcome.error ? outcome.error : e;
}

/* Nothing that went into the hour may have been collected meanwhile: it would come back. */
static bool is_complete(const struct rollup *r, const struct index_shelf *shelf)
{
	for (size_t i = 0; i < r->n_minutes; i++)
		if (r->minutes[i].merged &&
		    find_file(&shelf->windows, &r->minutes[i]) == shelf->windows.end)
			return false;
	return true;
}

/* Whoever found no company is not looked at again. */
static void leave_alone(const struct rollup *r, const struct index_shelf *shelf)
{
	for (size_t i = 0; i < r->n_minutes; i++) {
		size_t at = find_file(&shelf->windows, &r->minutes[i]);

		if (r->minutes[i].merged && at < shelf->windows.end)
			shelf->windows.files[at].stays = true;
	}
}

static int finish(struct rollup *r, struct index_shelf *shelf)
{
	int e = ROLLUP_E_OK;

	if (r->n_merged == 1)
		leave_alone(r, shelf);
	else if (r->n_merged && is_complete(r, shelf))
		e = write_hour(r, shelf);
	rollup_reset(r);
	return e;
}

int rollup_step(struct rollup *r, uint64_t until_s)
{
	struct index_shelf *shelf;
	int e = ROLLUP_E_OK;

	if (!r->folder)
		e = find_hour(r, until_s);
	if (!e) {
		shelf = find_shelf(r);
		if (!shelf)
			rollup_reset(r); /* collected, all of it */
		else if (r->next < r->n_minutes && merge_bytes(r->merge) <= r->max_bytes)
			e = merge_next(r, shelf);
		else
			e = finish(r, shelf);
	}
	if (e < 0)
		rollup_reset(r);
	return e;
}

/* --- after a crash ---------------------------------------------------------------------------- */

static bool lists(const struct profile_windows *windows, const struct profile *p)
{
	for (size_t i = 0; i < windows->n; i++)
		if (windows->all[i].time_ns == p->time_ns &&
		    windows->all[i].duration_ns == p->duration_ns)
			return true;
	return false;
}

/* Removes the small files that the hour's file at @at lists. */
static int recover_hour(struct rollup *r, struct index_shelf *shelf, uint64_t hour_s,
			const char *path)
{
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	cleanup(profile_freep) struct profile *hour = NULL;
	struct index_queue *queue = &shelf->windows;
	int e = read_profile(r, path, 2 * r->max_bytes, &hour);

	if (!e)
		e = profile_windows_of(hour, &windows);
	if (e || !windows.is_listed)
		return e == -ENOMEM ? e : 0; /* not rolled up, or not to be read: all stay */
	for (size_t i = queue->first; i < queue->end; i++) {
		cleanup(profile_freep) struct profile *minute = NULL;
		struct index_file *file = &queue->files[i];

		if (!is_minute(file) || hour_of(file) != hour_s)
			continue;
		if (!index_path(shelf, file, r->path, sizeof(r->path)) ||
		    read_profile(r, r->path, r->max_bytes, &minute) || !lists(&windows, minute))
			continue;
		if (r->store->ops->unlink(r->store->fd, r->path, 0) < 0 && errno != ENOENT)
			return error_origin(-errno);
		index_remove(&r->store->index, queue, i);
	}
	return 0;
}

/* Whether there are small files in the hour of the hour's file @at. */
static bool has_minutes(const struct index_queue *queue, size_t at)
{
	uint64_t hour_s = hour_of(&queue->files[at]);

	while (at > queue->first && hour_of(&queue->files[at - 1]) == hour_s)
		at--;
	for (; at < queue->end && hour_of(&queue->files[at]) == hour_s; at++)
		if (is_minute(&queue->files[at]))
			return true;
	return false;
}

/* Removing moves what is in front towards the end: an hour may be met twice, none is missed. */
static int recover_shelf(struct rollup *r, struct index_shelf *shelf)
{
	struct index_queue *queue = &shelf->windows;

	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file file = queue->files[i];
		char path[STORE_PATH_SIZE];
		int e;

		if (!index_is_hour(&file) || !has_minutes(queue, i) ||
		    !index_path(shelf, &file, path, sizeof(path)))
			continue;
		e = recover_hour(r, shelf, file.start_s, path);
		if (e)
			return e;
	}
	return 0;
}

int rollup_recover(struct rollup *r)
{
	struct index_shelf *shelf, *next;

	HASH_ITER (hh, r->store->index.shelves, shelf, next) {
		int e = shelf->is_session ? 0 : recover_shelf(r, shelf);

		if (e)
			return e;
	}
	return 0;
}
