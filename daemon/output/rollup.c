/* SPDX-License-Identifier: MIT */
/*
 * Samples of different windows never become one, because their labels differ. So nothing but what
 * samples refer to has to be held for an hour: the samples of each window go to the hour's file,
 * compressed, as soon as the window has been read, and what they refer to follows when all are
 * there (the order of a message's fields is free). A window is read to its end before any of it
 * goes anywhere, as what turns out to be damaged then could not be taken back.
 */
#include "daemon/output/rollup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/merge.h"
#include "daemon/output/batch.h"
#include "daemon/output/stored.h"

#define GZIP_LEVEL   6
#define STEP_SAMPLES 1000 /* merged and compressed by a step; microseconds each */
#define STEP_THINGS  4000 /* of what samples refer to: written by a step */
#define STEP_FILES   64   /* removed by a step */

enum phase {
	PHASE_NEXT,   /* the next minute is to be opened */
	PHASE_READ,   /* it is being read */
	PHASE_MERGE,  /* its samples go into the hour */
	PHASE_FINISH, /* what samples refer to follows them */
	PHASE_SYNC,   /* to the disk */
	PHASE_RENAME, /* the hour appears; for the index, its minutes are gone */
	PHASE_REMOVE, /* the minutes go */
};

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
	enum phase phase;
	uint64_t n_scans; /* of the store, when it was begun */
	char *folder;     /* the shelf's; NULL: there is none */
	uint64_t hour_s;
	struct minute *minutes;
	size_t n_minutes, n_merged, next;
	struct stored *file; /* of the minute before next */
	size_t n_samples;    /* of it: merged */
	struct merge *merge;
	struct pprof_writer *writer;
	struct batch *batch;
	bool is_finished; /* its times and comments are written */
	uint64_t samples; /* in the hour */
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

/* All of the hour in work but the list of its minutes. */
static void end_merging(struct rollup *r)
{
	merge_free(r->merge); /* borrows the minute */
	stored_free(r->file);
	pprof_writer_free(r->writer);
	batch_free(r->batch);
	r->merge = NULL;
	r->file = NULL;
	r->writer = NULL;
	r->batch = NULL;
}

static void forget(struct rollup *r)
{
	end_merging(r);
	for (size_t i = 0; i < r->n_minutes; i++)
		free(r->minutes[i].tail);
	free(r->minutes);
	free(r->folder);
	r->minutes = NULL;
	r->folder = NULL;
	r->n_minutes = r->n_merged = r->next = 0;
	r->n_samples = 0;
	r->samples = 0;
	r->is_finished = false;
	r->phase = PHASE_NEXT;
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

size_t rollup_bytes(const struct rollup *r)
{
	size_t bytes = r->merge ? merge_bytes(r->merge) : 0;

	if (r->file && stored_profile(r->file))
		bytes += profile_bytes(stored_profile(r->file));
	return bytes;
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

/* --- which hour ------------------------------------------------------------------------------- */

static int take_hour(struct rollup *r, const struct index_shelf *shelf, size_t first, size_t n)
{
	r->phase = PHASE_NEXT;
	r->n_scans = r->store->n_scans;
	r->folder = strdup(shelf->folder);
	r->minutes = calloc(n, sizeof(*r->minutes));
	if (!r->folder || !r->minutes)
		return error_origin(-ENOMEM);
	r->hour_s = index_hour_of(&shelf->windows.files[first]);
	for (size_t i = first; r->n_minutes < n; i++) {
		const struct index_file *file = &shelf->windows.files[i];
		struct minute *minute = &r->minutes[r->n_minutes];

		if (!index_is_minute(file))
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

		if (n && index_hour_of(file) != index_hour_of(&queue->files[*ret_first])) {
			if (n > 1)
				break;
			n = 0;
		}
		if (index_hour_of(file) + INDEX_HOUR_S > until_s)
			break;
		if (!index_is_minute(file))
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

/* --- a minute --------------------------------------------------------------------------------- */

/* A minute that cannot be read stays as it is. */
static int leave_damaged(struct rollup *r, struct index_shelf *shelf)
{
	size_t at = find_file(&shelf->windows, &r->minutes[r->next - 1]);

	if (at < shelf->windows.end)
		shelf->windows.files[at].stays = true;
	stored_free(r->file);
	r->file = NULL;
	r->phase = PHASE_NEXT;
	return ROLLUP_E_DAMAGED;
}

/* Opens the next minute, if there is one, and memory for what its samples may refer to. */
static int open_next(struct rollup *r, struct index_shelf *shelf)
{
	size_t at;
	int e;

	if (r->next == r->n_minutes || merge_bytes(r->merge) > r->max_bytes) {
		r->phase = PHASE_FINISH;
		return ROLLUP_E_OK;
	}
	at = find_file(&shelf->windows, &r->minutes[r->next++]);
	if (at == shelf->windows.end)
		return ROLLUP_E_OK; /* collected meanwhile */
	if (!index_path(shelf, &shelf->windows.files[at], r->path, sizeof(r->path)))
		return error_origin(-ENAMETOOLONG);
	e = stored_open(&r->file, r->store, r->path, r->max_bytes);
	if (e == -ENOMEM)
		return e;
	if (e) {
		(void)leave_damaged(r, shelf);
		return e == -ENOENT ? ROLLUP_E_OK : ROLLUP_E_DAMAGED;
	}
	r->phase = PHASE_READ;
	return ROLLUP_E_OK;
}

static int read_minute(struct rollup *r, struct index_shelf *shelf)
{
	struct profile_message message;
	int e = stored_step(r->file);

	if (e == STORED_E_DAMAGED)
		return leave_damaged(r, shelf);
	if (e != STORED_E_DONE)
		return e < 0 ? e : ROLLUP_E_OK;
	e = merge_begin(r->merge, stored_profile(r->file), NULL, &message);
	if (e < 0)
		return e;
	r->n_samples = 0;
	r->phase = PHASE_MERGE;
	if (e) {
		/* Of another event than the first one: waits for its own kind. */
		stored_free(r->file);
		r->file = NULL;
		r->phase = PHASE_NEXT;
	}
	return ROLLUP_E_OK;
}

/* What the encoder has ready goes into the file. */
static int put_encoded(struct rollup *r)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int e = pprof_writer_take(r->writer, &data, &length);

	return e || !length ? e : batch_write(r->batch, data, length);
}

/* Under a temporary name, beside its minutes. */
static int begin_file(struct rollup *r, const struct index_shelf *shelf)
{
	const struct names_window window = {.start_s = r->hour_s,
					    .seconds = INDEX_HOUR_S,
					    .tail = "pb.gz"};
	char folder[STORE_PATH_SIZE], name[64];
	const struct batch_file file = {.folder = folder, .name = name, .owner = STORE_NOBODY};
	int e;

	if (!index_folder(shelf, r->hour_s, folder, sizeof(folder)) ||
	    !names_window(&window, name, sizeof(name)))
		return error_origin(-ENAMETOOLONG);
	e = pprof_writer_new(&r->writer, GZIP_LEVEL);
	if (!e)
		e = batch_new(&r->batch, r->store);
	return e ? e : batch_begin(r->batch, &file);
}

static int merge_minute(struct rollup *r, struct index_shelf *shelf)
{
	int64_t samples = 0;
	int e = r->writer ? 0 : begin_file(r, shelf);

	if (!e)
		e = merge_samples(r->merge, r->n_samples, STEP_SAMPLES, &samples);
	if (!e)
		e = pprof_writer_samples(r->writer, merge_profile(r->merge), 0, SIZE_MAX);
	if (e)
		return e;
	profile_clear_samples(merge_profile(r->merge));
	r->samples += (uint64_t)samples;
	r->n_samples += STEP_SAMPLES;
	if (r->n_samples >= stored_profile(r->file)->n_samples) {
		e = merge_end(r->merge);
		stored_free(r->file);
		r->file = NULL;
		r->minutes[r->next - 1].merged = true;
		r->n_merged++;
		r->phase = PHASE_NEXT;
	}
	return e ? e : put_encoded(r);
}

/* --- the hour --------------------------------------------------------------------------------- */

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

/* Times and comments are known once, when the first step begins; then there is no way back. */
static int finish_file(struct rollup *r, struct index_shelf *shelf)
{
	bool done;
	int e = 0;

	if (r->n_merged < 2) {
		leave_alone(r, shelf);
		forget(r);
		return ROLLUP_E_OK;
	}
	if (!r->is_finished)
		e = merge_finish(r->merge);
	r->is_finished = true;
	if (!e)
		e = pprof_writer_step(r->writer, merge_profile(r->merge), STEP_THINGS, &done);
	if (!e)
		e = put_encoded(r);
	if (!e && done)
		r->phase = PHASE_SYNC;
	return e;
}

static int sync_file(struct rollup *r)
{
	r->phase = PHASE_RENAME;
	return batch_end(r->batch, r->samples);
}

/* For the index it is one step: what it says never counts anything twice. */
static int rename_file(struct rollup *r, struct index_shelf *shelf)
{
	struct batch_outcome outcome;

	if (!is_complete(r, shelf)) {
		forget(r);
		return ROLLUP_E_OK;
	}
	outcome = batch_commit(r->batch);
	if (!outcome.is_final)
		return outcome.error;
	for (size_t i = 0; i < r->n_minutes; i++) {
		size_t at = find_file(&shelf->windows, &r->minutes[i]);

		if (r->minutes[i].merged && at < shelf->windows.end)
			index_remove(&r->store->index, &shelf->windows, at);
	}
	end_merging(r);
	r->next = 0;
	r->phase = PHASE_REMOVE;
	/* Without its name on the disk the hour may be gone one day: the next start decides. */
	if (outcome.error)
		forget(r);
	return outcome.error;
}

/* Removes what went into the hour, at most @max files. One that stays the next start tries. */
static int remove_minutes(struct rollup *r, size_t max)
{
	const struct index_shelf shelf = {.folder = r->folder};
	int first = 0;

	for (; r->next < r->n_minutes && max; r->next++, max--) {
		const struct minute *minute = &r->minutes[r->next];
		const struct index_file file = {.start_s = minute->start_s,
						.seconds = minute->seconds,
						.tail = minute->tail};
		char path[STORE_PATH_SIZE];

		if (!minute->merged || !index_path(&shelf, &file, path, sizeof(path)))
			continue;
		if (r->store->ops->unlink(r->store->fd, path, 0) < 0 && errno != ENOENT && !first)
			first = error_origin(-errno);
	}
	return first;
}

void rollup_reset(struct rollup *r)
{
	if (r->phase == PHASE_REMOVE && r->n_scans == r->store->n_scans)
		(void)remove_minutes(r, SIZE_MAX);
	forget(r);
}

static int remove_some(struct rollup *r)
{
	int e = remove_minutes(r, STEP_FILES);

	if (r->next == r->n_minutes)
		forget(r);
	return e;
}

static int go_on(struct rollup *r, struct index_shelf *shelf)
{
	switch (r->phase) {
	case PHASE_NEXT:
		return open_next(r, shelf);
	case PHASE_READ:
		return read_minute(r, shelf);
	case PHASE_MERGE:
		return merge_minute(r, shelf);
	case PHASE_FINISH:
		return finish_file(r, shelf);
	case PHASE_SYNC:
		return sync_file(r);
	case PHASE_RENAME:
		return rename_file(r, shelf);
	case PHASE_REMOVE:
		return remove_some(r);
	}
	return ROLLUP_E_OK;
}

int rollup_step(struct rollup *r, uint64_t until_s)
{
	struct index_shelf *shelf;
	int e = ROLLUP_E_OK;

	if (r->folder && r->n_scans != r->store->n_scans)
		forget(r);
	if (!r->folder)
		e = find_hour(r, until_s);
	if (!e) {
		shelf = find_shelf(r);
		if (shelf)
			e = go_on(r, shelf);
		else
			rollup_reset(r); /* collected, all of it */
	}
	if (e < 0)
		rollup_reset(r);
	return e;
}
