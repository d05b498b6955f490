/* SPDX-License-Identifier: MIT */
/*
 * Hours are made of minutes, and days of hours and of minutes that were alone: two levels, which do
 * the same. What is said of an hour and its minutes below holds for a day and what goes into it.
 *
 * The windows of an hour hold the same stacks again and again, and gzip finds that if they are
 * near. So the samples of all windows are held, put in order (profile_arrange()) and written then;
 * most services have no more than fit. Where they take half of the memory, those that are there are
 * put in order, written, and forgotten; what they refer to follows when all are there (the order of
 * a message's fields is free), so from then on its indices stay. Samples of a minute pass through
 * as they are read. A minute that turns out to be damaged then, which is rare, as all of it has
 * been unpacked by then, ends the hour in work, which begins anew without it.
 */
#include "daemon/output/rollup.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/windows.h"
#include "common/text_print.h"
#include "daemon/output/batch.h"
#include "daemon/output/file_counts.h"
#include "daemon/output/peak.h"
#include "daemon/output/rollup_hours.h"
#include "daemon/output/stored.h"
#include "daemon/output/window_events.h"

#define GZIP_LEVEL   6
#define STEP_SAMPLES 1000 /* compressed by a step; microseconds each */
#define STEP_THINGS  4000 /* of what samples refer to: written by a step */
#define STEP_FILES   64   /* removed by a step */
#define HOUR_SHARE   4    /* of the memory is the biggest file of an hour that a day takes */
#define PAUSE_S      600u /* after hours that failed */
#define PAUSE_MAX_S  21600u

enum phase {
	PHASE_NEXT,   /* the next minute is to be opened */
	PHASE_READ,   /* it is being read, and its samples go into the hour */
	PHASE_ORDER,  /* those that are held are put in order */
	PHASE_WRITE,  /* and written */
	PHASE_FINISH, /* what samples refer to follows them */
	PHASE_SYNC,   /* to the disk */
	PHASE_RENAME, /* the hour appears; for the index, its minutes are gone */
	PHASE_REMOVE, /* the minutes go */
};

/* What became of a small file of the hour in work; the index keeps it. */
enum { MINUTE_WAITS, MINUTE_BEGUN, MINUTE_MERGED, MINUTE_SKIPPED };

struct rollup {
	struct store *store;
	size_t max_bytes;
	/* The hour in work. */
	enum phase phase;
	uint64_t n_scans; /* of the store, when it was begun */
	char *dir;        /* the shelf's; NULL: there is none */
	unsigned level;
	uint64_t hour_s;
	struct stored *file; /* of the minute that is begun */
	bool has_tables;     /* of it */
	size_t at_hour;      /* in which hour of a day it begins */
	size_t n_merged;     /* minutes */
	struct texts merged; /* their paths, when the hour is written */
	size_t next;
	struct merge *merge;
	size_t n_written; /* of the samples that are held */
	bool is_last;     /* no more will come */
	struct pprof_writer *writer;
	struct batch *batch;
	bool is_finished;                       /* its times and comments are written */
	char *events;                           /* window_events.h; NULL: none */
	struct index_counts hours[STORE_HOURS]; /* of each hour of a day; of an hour, the first */
	/* Hours that failed are marked in the index. */
	uint64_t pause_s; /* 0: none has */
	uint64_t due_s;   /* when they are tried again */
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

/* All of the hour in work but the paths of its minutes. */
static void rollup_end_merge(struct rollup *r)
{
	merge_free(steal_ptr(&r->merge)); /* borrows the minute */
	stored_free(steal_ptr(&r->file));
	pprof_writer_free(steal_ptr(&r->writer));
	batch_free(steal_ptr(&r->batch));
}

static void rollup_forget_hour(struct rollup *r)
{
	rollup_end_merge(r);
	texts_deinit(&r->merged);
	free(steal_ptr(&r->dir));
	free(steal_ptr(&r->events));
	r->n_merged = r->next = 0;
	r->n_written = 0;
	memset(r->hours, 0, sizeof(r->hours));
	r->is_last = r->is_finished = false;
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

bool rollup_is_behind(const struct rollup *r)
{
	return r->pause_s > 0;
}

size_t rollup_bytes(const struct rollup *r)
{
	size_t bytes = r->merge ? merge_bytes(r->merge) : 0;

	if (r->file && stored_profile(r->file))
		bytes += profile_bytes(stored_profile(r->file));
	return bytes;
}

static bool rollup_is_in_work(const struct rollup *r, const struct index_file *file)
{
	return rollup_hour_of(file, r->level) == r->hour_s && rollup_is_minute(file, r->level);
}

/* The first minute of the hour in work of which @state holds; NULL: none, or it was collected. */
static struct index_file *rollup_find(const struct rollup *r, struct index_shelf *shelf,
				      unsigned state)
{
	const struct index_queue *queue = index_pprof(shelf);

	for (size_t i = queue->first; i < queue->end; i++) {
		struct index_file *file = &queue->files[i];

		if (rollup_is_in_work(r, file) && file->state == state)
			return file;
	}
	return NULL;
}

/* --- which hour ------------------------------------------------------------------------------- */

static int rollup_start_hour(struct rollup *r, struct index_shelf *shelf,
			     const struct rollup_hour *h)
{
	int e;

	r->phase = PHASE_NEXT;
	r->n_scans = r->store->n_scans;
	r->dir = strdup(shelf->dir);
	if (!r->dir)
		return error_origin(-ENOMEM);
	r->level = h->level;
	r->hour_s = h->start_s;
	for (size_t i = h->first; i < h->end; i++)
		index_pprof(shelf)->files[i].state = MINUTE_WAITS;
	e = merge_new(&r->merge, MERGE_WINDOWS_SET);
	if (!e)
		merge_keep_times(r->merge);
	return e;
}

/*
 * Takes the first hour of @shelf that has several small files and has not failed; when there is
 * none, the first such day.
 */
static int rollup_start_first(struct rollup *r, struct index_shelf *shelf, uint64_t until_s)
{
	for (unsigned level = 0; level < ROLLUP_LEVELS; level++) {
		struct rollup_hour h = {.level = level, .end = index_pprof(shelf)->first};

		while (rollup_next_hour(index_pprof(shelf), &h) &&
		       h.start_s + rollup_levels[level] <= until_s)
			if (h.n > 1 && !h.has_failed)
				return rollup_start_hour(r, shelf, &h);
	}
	return ROLLUP_E_IDLE;
}

/*
 * What failed comes behind what did not, and so does what else is on its shelf, as that may fail
 * for the same reason: nothing that lasts keeps another service waiting.
 */
static int rollup_find_fresh(struct rollup *r, uint64_t until_s)
{
	int e = ROLLUP_E_IDLE;

	for (int behind = 0; behind < 2; behind++) {
		struct index_shelf *s = r->store->index.shelves;

		for (; s && e == ROLLUP_E_IDLE; s = s->hh.next)
			if (!s->is_session && s->is_behind == behind)
				e = rollup_start_first(r, s, until_s);
	}
	return e;
}

static bool rollup_is_due(const struct rollup *r, uint64_t now_s)
{
	return r->due_s <= now_s || r->due_s > now_s + r->pause_s; /* the clock jumped */
}

/* An hour that has not failed; without one, and when they are due, those that have. */
static int rollup_find_hour(struct rollup *r, uint64_t until_s, uint64_t now_s)
{
	int e = rollup_find_fresh(r, until_s);

	if (e != ROLLUP_E_IDLE || !r->pause_s || !rollup_is_due(r, now_s))
		return e;
	for (struct index_shelf *s = r->store->index.shelves; s; s = s->hh.next)
		for (size_t i = index_pprof(s)->first; i < index_pprof(s)->end; i++)
			index_pprof(s)->files[i].failed = false;
	e = rollup_find_fresh(r, until_s);
	/* None: they are done by now, or were collected. */
	r->pause_s = e == ROLLUP_E_IDLE ? 0 : 2 * r->pause_s;
	if (r->pause_s > PAUSE_MAX_S)
		r->pause_s = PAUSE_MAX_S;
	return e;
}

/* --- a minute --------------------------------------------------------------------------------- */

static void rollup_end_minute(struct rollup *r, struct index_shelf *shelf, unsigned state)
{
	struct index_file *file = rollup_find(r, shelf, MINUTE_BEGUN);

	if (file)
		file->state = state;
	stored_free(steal_ptr(&r->file));
	r->phase = PHASE_NEXT;
}

/* A minute that cannot be read stays as it is. What went into the hour of it cannot be undone. */
static int rollup_skip_damaged(struct rollup *r, struct index_shelf *shelf)
{
	struct index_file *file = rollup_find(r, shelf, MINUTE_BEGUN);

	rollup_end_minute(r, shelf, MINUTE_SKIPPED);
	if (file)
		file->stays = ROLLUP_LEVELS;
	if (r->has_tables)
		rollup_forget_hour(r);
	return ROLLUP_E_DAMAGED;
}

/* Of samples that are to be written, nearly. */
static size_t rollup_held_bytes(const struct rollup *r)
{
	const struct profile *p = merge_profile(r->merge);

	return p ? p->n_samples * sizeof(*p->samples) +
			       p->n_sample_locations * sizeof(*p->sample_locations) +
			       p->n_sample_labels * sizeof(*p->sample_labels)
		 : 0;
}

/* Opens the next minute, if there is one, and memory for what its samples may refer to. */
static int rollup_open_next(struct rollup *r, struct index_shelf *shelf)
{
	struct index_file *file = rollup_find(r, shelf, MINUTE_WAITS);
	const size_t held = rollup_held_bytes(r);
	int e;

	r->is_last = !file || merge_bytes(r->merge) - held > r->max_bytes;
	if (r->is_last || (held && merge_bytes(r->merge) > r->max_bytes / 2)) {
		r->phase = r->n_merged < 2 && r->is_last ? PHASE_FINISH : PHASE_ORDER;
		return ROLLUP_E_OK;
	}
	if (r->level && file->blocks > r->max_bytes / HOUR_SHARE / INDEX_BLOCK) {
		file->stays = r->level + 1;
		return ROLLUP_E_OK;
	}
	if (!index_path(shelf, file, r->path, sizeof(r->path)))
		return error_origin(-ENAMETOOLONG);
	file->state = MINUTE_BEGUN;
	r->at_hour = r->level ? (file->start_s - r->hour_s) / NAMES_ROLLED_HOUR_S : 0;
	r->has_tables = false;
	e = stored_open(&r->file, r->store, r->path, r->max_bytes);
	if (e < 0)
		return e;
	if (e) {
		(void)rollup_skip_damaged(r, shelf);
		return e == STORED_E_GONE ? ROLLUP_E_OK : ROLLUP_E_DAMAGED;
	}
	stored_want_times(r->file);
	r->phase = PHASE_READ;
	return ROLLUP_E_OK;
}

/* What its samples refer to is there. */
static int rollup_begin_minute(struct rollup *r, struct index_shelf *shelf)
{
	struct profile_message message;
	int e = merge_begin(r->merge, stored_profile(r->file), NULL, &message);

	if (e <= 0) {
		r->has_tables = !e;
		return e;
	}
	/* Of another event than the first one: waits for its own kind. */
	rollup_end_minute(r, shelf, MINUTE_SKIPPED);
	return ROLLUP_E_OK;
}

/* Of the minute in r->path, which begins @after_s later than the hour. */
static int rollup_join_events(struct rollup *r, uint64_t after_s)
{
	cleanup(freep) char *events = file_counts_events(r->store, r->path);
	const char *at = events;
	struct window_event event;
	int e = 0;

	while (at && !e && window_events_next(&at, &event)) {
		event.at_s += (uint32_t)after_s;
		e = window_events_add(&r->events, &event);
	}
	return e;
}

/* As it was when the minute was written; NULL: it was collected. */
static int rollup_join_minute(struct rollup *r, const struct index_file *minute)
{
	struct index_counts counts;
	uint64_t hour_s = r->hour_s + r->at_hour * NAMES_ROLLED_HOUR_S;

	if (!minute)
		return 0;
	counts = minute->counts;
	if (counts.samples == INDEX_SAMPLES_UNKNOWN &&
	    !file_counts_read(r->store, r->path, &counts))
		return 0;
	peak_join(&r->hours[r->at_hour].peak, counts.peak, minute->start_s - hour_s);
	return counts.has_events ? rollup_join_events(r, minute->start_s - r->hour_s) : 0;
}

static int rollup_read_minute(struct rollup *r, struct index_shelf *shelf)
{
	const int read = stored_step(r->file);
	struct index_counts counts;
	int64_t samples = 0;
	int e;

	if (read < 0)
		return read;
	if (read == STORED_E_DAMAGED)
		return rollup_skip_damaged(r, shelf);
	if (read == STORED_E_TABLES)
		return rollup_begin_minute(r, shelf);
	if (!r->has_tables)
		return ROLLUP_E_OK;
	e = merge_samples(r->merge, 0, SIZE_MAX, &samples);
	if (e)
		return e;
	counts = stored_count_profile(stored_profile(r->file));
	r->hours[r->at_hour].samples += counts.samples;
	r->hours[r->at_hour].cpu_ns += counts.cpu_ns;
	r->hours[r->at_hour].off_ns += counts.off_ns;
	profile_clear_samples(stored_profile(r->file));
	if (read == STORED_E_DONE) {
		e = merge_end(r->merge)
			    ?: rollup_join_minute(r, rollup_find(r, shelf, MINUTE_BEGUN));
		rollup_end_minute(r, shelf, MINUTE_MERGED);
		r->n_merged++;
	} else if (rollup_bytes(r) > r->max_bytes) {
		r->phase = PHASE_ORDER;
	}
	return e;
}

/* What the encoder has ready goes into the file. */
static int rollup_put_encoded(struct rollup *r)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int e = pprof_writer_steal(r->writer, &data, &length);

	return e || !length ? e : batch_write(r->batch, data, length);
}

/* Under a temporary name, beside its minutes. */
static int rollup_begin_file(struct rollup *r, struct index_shelf *shelf)
{
	const struct names_window window = {.start_s = r->hour_s,
					    .seconds = rollup_levels[r->level],
					    .tail = "pb.gz"};
	char dir[STORE_PATH_SIZE], name[64];
	const struct batch_file file = {.dir = dir, .name = name, .owner = STORE_NOBODY};
	int e;

	if (!index_dir_path(shelf, r->hour_s, dir, sizeof(dir)) ||
	    !names_window(&window, name, sizeof(name)))
		return error_origin(-ENAMETOOLONG);
	merge_fix_types(r->merge);
	e = pprof_writer_new(&r->writer, GZIP_LEVEL) ?: batch_new(&r->batch, r->store);
	return e ? e : batch_begin(r->batch, &file);
}

/* What samples are written with, and within a minute what is translated, keeps its index. */
static int rollup_order_samples(struct rollup *r)
{
	struct profile *p = merge_profile(r->merge);

	r->phase = PHASE_WRITE;
	return r->writer || r->file ? profile_arrange_samples(p) : profile_arrange(p);
}

static int rollup_write_samples(struct rollup *r, struct index_shelf *shelf)
{
	struct profile *p = merge_profile(r->merge);
	int e = (r->writer ? 0 : rollup_begin_file(r, shelf))
			?: pprof_writer_samples(r->writer, p, r->n_written, STEP_SAMPLES);

	r->n_written += STEP_SAMPLES;
	if (!e && r->n_written >= p->n_samples) {
		profile_clear_samples(p);
		r->n_written = 0;
		r->phase = r->is_last ? PHASE_FINISH : r->file ? PHASE_READ : PHASE_NEXT;
	}
	return e ? e : rollup_put_encoded(r);
}

/* --- the hour --------------------------------------------------------------------------------- */

/* Fills r->merged with those that are there. */
static int rollup_list_merged(struct rollup *r, struct index_shelf *shelf)
{
	const struct index_queue *queue = index_pprof(shelf);
	char path[INDEX_PATH_SIZE];
	int e = 0;

	for (size_t i = queue->first; i < queue->end && !e; i++) {
		const struct index_file *file = &queue->files[i];

		if (!rollup_is_in_work(r, file) || file->state != MINUTE_MERGED ||
		    !index_path(shelf, file, path, sizeof(path)))
			continue;
		e = texts_add(&r->merged, strdup(path));
	}
	return e;
}

/* Times and comments are known once, when the first step begins; then there is no way back. */
static int rollup_finish_file(struct rollup *r, struct index_shelf *shelf)
{
	struct index_file *file;
	bool done;
	int e = 0;

	if (r->n_merged < 2) {
		/* A window that is alone in its hour is not looked at again. */
		file = rollup_find(r, shelf, MINUTE_MERGED);
		if (file)
			file->stays = r->level + 1;
		rollup_forget_hour(r);
		return ROLLUP_E_OK;
	}
	if (!r->is_finished)
		e = merge_finish(r->merge);
	r->is_finished = true;
	if (!e)
		e = pprof_writer_step(r->writer, merge_profile(r->merge), STEP_THINGS, &done);
	if (!e)
		e = rollup_put_encoded(r);
	if (!e && done)
		r->phase = PHASE_SYNC;
	return e;
}

static int rollup_sync_file(struct rollup *r)
{
	struct index_counts counts = {0};

	for (size_t i = 0; i < STORE_HOURS; i++) {
		counts.samples += r->hours[i].samples;
		counts.cpu_ns += r->hours[i].cpu_ns;
		counts.off_ns += r->hours[i].off_ns;
		peak_join(&counts.peak, r->hours[i].peak, i * NAMES_ROLLED_HOUR_S);
	}
	counts.has_events = r->events;
	r->phase = PHASE_RENAME;
	if (r->events)
		batch_note_events(r->batch, r->events);
	if (r->level)
		batch_note_hours(r->batch, r->hours);
	return batch_end(r->batch, counts);
}

/* For the index it is one step: what it says never counts anything twice. */
static int rollup_rename_file(struct rollup *r, struct index_shelf *shelf)
{
	struct index_queue *queue = index_pprof(shelf);
	const struct index_file *file;
	struct batch_outcome outcome;
	int e = rollup_list_merged(r, shelf);

	/* Nothing that went into the hour may have been collected meanwhile: it would come back. */
	if (!e && r->merged.n < r->n_merged)
		rollup_forget_hour(r);
	if (e || !r->merged.n)
		return e;
	outcome = batch_commit(r->batch);
	if (!outcome.is_final)
		return outcome.error;
	while ((file = rollup_find(r, shelf, MINUTE_MERGED)))
		index_remove(&r->store->index, shelf, queue, (size_t)(file - queue->files));
	shelf->is_behind = false;
	rollup_end_merge(r);
	r->phase = PHASE_REMOVE;
	/* Without its name on the disk the hour may be gone one day: the next start decides. */
	if (outcome.error)
		r->next = r->merged.n;
	return outcome.error;
}

/* Removes what went into the hour, at most @max files. One that stays the next start tries. */
static int rollup_remove_minutes(struct rollup *r, size_t max)
{
	int first = 0;

	for (; r->next < r->merged.n && max; r->next++, max--)
		if (store_unlink(r->store, r->merged.all[r->next], 0) < 0 && errno != ENOENT &&
		    !first)
			first = error_origin(-errno);
	return first;
}

void rollup_reset(struct rollup *r)
{
	if (r->phase == PHASE_REMOVE && r->n_scans == r->store->n_scans)
		(void)rollup_remove_minutes(r, SIZE_MAX);
	rollup_forget_hour(r);
}

static int rollup_remove_some(struct rollup *r)
{
	int e = rollup_remove_minutes(r, STEP_FILES);

	if (!e && r->next == r->merged.n)
		rollup_forget_hour(r);
	return e;
}

static int rollup_run_phase(struct rollup *r, struct index_shelf *shelf)
{
	switch (r->phase) {
	case PHASE_NEXT:
		return rollup_open_next(r, shelf);
	case PHASE_READ:
		return rollup_read_minute(r, shelf);
	case PHASE_ORDER:
		return rollup_order_samples(r);
	case PHASE_WRITE:
		return rollup_write_samples(r, shelf);
	case PHASE_FINISH:
		return rollup_finish_file(r, shelf);
	case PHASE_SYNC:
		return rollup_sync_file(r);
	case PHASE_RENAME:
		return rollup_rename_file(r, shelf);
	case PHASE_REMOVE:
		return rollup_remove_some(r);
	}
	return ROLLUP_E_OK;
}

/* What is not even begun, or is written and not tidied up after, did not fail. */
static void rollup_set_back(struct rollup *r, struct index_shelf *shelf, uint64_t now_s)
{
	const struct index_file hour = {.start_s = r->hour_s, .seconds = rollup_levels[r->level]};
	struct index_queue *queue = index_pprof(shelf);

	if (!index_path(shelf, &hour, r->path, sizeof(r->path)))
		r->path[0] = '\0';
	if (r->phase == PHASE_REMOVE)
		return;
	for (size_t i = queue->first; i < queue->end; i++)
		queue->files[i].failed |= rollup_hour_of(&queue->files[i], r->level) == r->hour_s;
	shelf->is_behind = true;
	if (!r->pause_s)
		r->pause_s = PAUSE_S;
	/* What fails meanwhile waits no longer than what waits by now. */
	if (rollup_is_due(r, now_s))
		r->due_s = now_s + r->pause_s;
}

int rollup_step(struct rollup *r, uint64_t until_s, uint64_t now_s)
{
	struct index_shelf *shelf = NULL;
	int e = ROLLUP_E_OK;

	if (r->dir && r->n_scans != r->store->n_scans)
		rollup_forget_hour(r);
	if (!r->dir)
		e = rollup_find_hour(r, until_s, now_s);
	if (!e) {
		HASH_FIND_STR(r->store->index.shelves, r->dir, shelf);
		if (shelf)
			e = rollup_run_phase(r, shelf);
		else
			rollup_reset(r); /* collected, all of it */
	}
	if (e < 0 && shelf)
		rollup_set_back(r, shelf, now_s);
	if (e < 0)
		rollup_reset(r);
	return e;
}
