/* SPDX-License-Identifier: MIT */
/*
 * What a profd that was killed left: an hour's file, and minutes that it holds. The file lists its
 * windows; a minute all of whose windows are listed goes.
 */
#include "daemon/output/rollup_recover.h"

#include <errno.h>

#include "common/error.h"
#include "common/profile/windows.h"
#include "daemon/output/rollup_hours.h"
#include "daemon/output/stored.h"

struct rollup_recovery {
	struct store *store;
	size_t max_bytes;
};

/* Opens and reads @path but for its samples; what cannot be read is none of ours (*ret NULL). */
static int rollup_read_tables(const struct rollup_recovery *r, const char *path,
			      struct stored **ret)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	int e = stored_open(&stored, r->store, path, 2 * r->max_bytes);

	while (e == STORED_E_OK)
		e = stored_step(stored);
	*ret = e == STORED_E_TABLES ? steal_ptr(&stored) : NULL;
	return e < 0 ? e : 0;
}

static bool rollup_has_window(const struct profile_windows *windows,
			      const struct profile_window *window)
{
	for (size_t i = 0; i < windows->n; i++)
		if (windows->all[i].time_ns == window->time_ns &&
		    windows->all[i].duration_ns == window->duration_ns)
			return true;
	return false;
}

/* Whether @windows list all those of the small file at @path. */
static int rollup_is_listed(const struct rollup_recovery *r, const struct profile_windows *windows,
			    const char *path, bool *ret)
{
	cleanup(profile_windows_deinit) struct profile_windows of_minute = {0};
	cleanup(stored_freep) struct stored *minute = NULL;
	int e = rollup_read_tables(r, path, &minute);

	if (!e && minute)
		e = profile_windows_of(stored_profile(minute), &of_minute);
	*ret = of_minute.n > 0;
	for (size_t i = 0; i < of_minute.n; i++)
		*ret &= rollup_has_window(windows, &of_minute.all[i]);
	return e;
}

/* Removes the small files that @hour, one of @level and @shelf, lists. */
static int rollup_recover_hour(const struct rollup_recovery *r, struct index_shelf *shelf,
			       const struct index_file *hour, unsigned level)
{
	cleanup(profile_windows_deinit) struct profile_windows windows = {0};
	cleanup(stored_freep) struct stored *stored = NULL;
	struct index_queue *queue = index_pprof(shelf);
	const uint64_t hour_s = hour->start_s;
	char path[INDEX_PATH_SIZE];
	bool is_listed;
	int e = index_path(shelf, hour, path, sizeof(path)) ? rollup_read_tables(r, path, &stored)
							    : 0;

	if (!e && stored)
		e = profile_windows_of(stored_profile(stored), &windows);
	if (e || !windows.is_listed)
		return e; /* not rolled up, or not to be read: all stay */
	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file *file = &queue->files[i];

		if (!rollup_is_minute(file, level) || rollup_hour_of(file, level) != hour_s ||
		    !index_path(shelf, file, path, sizeof(path)))
			continue;
		e = rollup_is_listed(r, &windows, path, &is_listed);
		if (e)
			return e;
		if (!is_listed)
			continue;
		if (store_unlink(r->store, path, 0) < 0 && errno != ENOENT)
			return error_origin(-errno);
		index_remove(&r->store->index, shelf, queue, i);
	}
	return 0;
}

/*
 * Removing moves what is in front towards the end: files of the hours before, which are passed
 * over, and an hour's file, which may be met twice, but is not missed.
 */
static int rollup_recover_shelf(const struct rollup_recovery *r, struct index_shelf *shelf,
				unsigned level)
{
	struct index_queue *queue = index_pprof(shelf);
	struct rollup_hour h = {.level = level, .end = queue->first};

	while (rollup_next_hour(queue, &h)) {
		for (size_t i = h.first; h.n && i < h.end && i < queue->end; i++) {
			const struct index_file *file = &queue->files[i];
			int e = file->seconds == rollup_levels[level] && file->start_s == h.start_s
					? rollup_recover_hour(r, shelf, file, level)
					: 0;

			if (e)
				return e;
		}
	}
	return 0;
}

int rollup_recover(struct store *store, size_t max_bytes)
{
	const struct rollup_recovery r = {.store = store, .max_bytes = max_bytes};
	struct index_shelf *shelf, *next;

	HASH_ITER (hh, store->index.shelves, shelf, next) {
		for (unsigned level = 0; level < ROLLUP_LEVELS; level++) {
			int e = shelf->is_session ? 0 : rollup_recover_shelf(&r, shelf, level);

			if (e)
				return e;
		}
	}
	return 0;
}
