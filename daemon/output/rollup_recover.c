/* SPDX-License-Identifier: MIT */
/* What a roll-up that was killed left: an hour's file, and minutes that it holds. */
#include <errno.h>

#include "common/error.h"
#include "common/profile/windows.h"
#include "daemon/output/rollup.h"
#include "daemon/output/stored.h"

struct recovery {
	struct store *store;
	size_t max_bytes;
};

static bool recovery_lists_window(const struct profile_windows *windows, const struct profile *p)
{
	for (size_t i = 0; i < windows->n; i++)
		if (windows->all[i].time_ns == p->time_ns &&
		    windows->all[i].duration_ns == p->duration_ns)
			return true;
	return false;
}

/* Opens and reads @path but for its samples; what cannot be read is none of ours (*ret NULL). */
static int recovery_read_tables(const struct recovery *r, const char *path, struct stored **ret)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	int e = stored_open(&stored, r->store, path, 2 * r->max_bytes);

	if (!e)
		e = stored_read_tables(stored);
	*ret = e == STORED_E_TABLES ? steal_ptr(&stored) : NULL;
	return e == -ENOMEM ? e : 0;
}

/* Whether the small file at @path is listed; *ret_is. */
static int recovery_is_listed(const struct recovery *r, const struct profile_windows *windows,
			      const char *path, bool *ret_is)
{
	cleanup(stored_freep) struct stored *minute = NULL;
	int e = recovery_read_tables(r, path, &minute);

	if (!e)
		*ret_is = minute && recovery_lists_window(windows, stored_profile(minute));
	return e;
}

/* Removes the small files that the hour's file at @path lists. */
static int recover_hour(const struct recovery *r, struct index_shelf *shelf, uint64_t hour_s,
			const char *path)
{
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	cleanup(stored_freep) struct stored *hour = NULL;
	struct index_queue *queue = index_pprof(shelf);
	char minute[STORE_PATH_SIZE];
	bool listed = false;
	int e = recovery_read_tables(r, path, &hour);

	if (!e && hour)
		e = profile_windows_of(stored_profile(hour), &windows);
	if (e || !windows.is_listed)
		return e; /* not rolled up, or not to be read: all stay */
	for (size_t i = queue->first; i < queue->end; i++) {
		struct index_file *file = &queue->files[i];

		if (!index_is_minute(file) || index_hour_of(file) != hour_s ||
		    !index_path(shelf, file, minute, sizeof(minute)))
			continue;
		e = recovery_is_listed(r, &windows, minute, &listed);
		if (e)
			return e;
		if (!listed)
			continue;
		if (r->store->ops->unlink(r->store->fd, minute, 0) < 0 && errno != ENOENT)
			return error_origin(-errno);
		index_remove(&r->store->index, queue, i);
	}
	return 0;
}

/* Whether there are small files in the hour of the hour's file @at. */
static bool recovery_has_minutes(const struct index_queue *queue, size_t at)
{
	uint64_t hour_s = index_hour_of(&queue->files[at]);

	while (at > queue->first && index_hour_of(&queue->files[at - 1]) == hour_s)
		at--;
	for (; at < queue->end && index_hour_of(&queue->files[at]) == hour_s; at++)
		if (index_is_minute(&queue->files[at]))
			return true;
	return false;
}

/* Removing moves what is in front towards the end: an hour may be met twice, none is missed. */
static int recover_shelf(const struct recovery *r, struct index_shelf *shelf)
{
	struct index_queue *queue = index_pprof(shelf);

	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file file = queue->files[i];
		char path[STORE_PATH_SIZE];
		int e;

		if (!index_is_hour(&file) || !recovery_has_minutes(queue, i) ||
		    !index_path(shelf, &file, path, sizeof(path)))
			continue;
		e = recover_hour(r, shelf, file.start_s, path);
		if (e)
			return e;
	}
	return 0;
}

int rollup_recover(struct store *store, size_t max_bytes)
{
	const struct recovery r = {.store = store, .max_bytes = max_bytes};
	struct index_shelf *shelf, *next;

	HASH_ITER (hh, store->index.shelves, shelf, next) {
		int e = shelf->is_session ? 0 : recover_shelf(&r, shelf);

		if (e)
			return e;
	}
	return 0;
}
