/* SPDX-License-Identifier: MIT */
/*
 * A machine of small steps: open a file, read it (its tables first, then samples piece by piece),
 * merge what was read, write samples away when they have grown too big; after the last file the
 * merged tables and the remaining samples are written. collect_step() chooses by what is in work.
 */
#include "daemon/output/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "daemon/output/stored.h"

#define GZIP_LEVEL   6
#define STEP_SAMPLES 1000 /* compressed by a step; microseconds each */
#define STEP_FILES   50   /* looked into by a step: tens of microseconds each */
#define STEP_THINGS  4000 /* of what samples refer to: written by a step */

struct collect_file {
	char *path; /* below the store */
	bool whole; /* in range; else its windows are looked at */
	/* Of these, those that begin from then to then; 0: all. */
	uint64_t start_s, end_s;
};

struct collect {
	struct store *store;
	struct collect_options options;
	struct collect_file *files;
	size_t n_files, max_files, next;
	struct stored *stored; /* the file before next, which is being read */
	struct merge_select file_select;
	bool has_tables; /* of that file */
	struct merge *merge;
	struct pprof_writer *writer;
	bool is_looking, is_spilling, is_finishing;
	size_t n_looked;  /* files, see collect_look_some() */
	size_t n_spilled; /* samples, by now */
	struct collected *result;
};

void collected_free(struct collected *c)
{
	if (!c)
		return;
	closep(&c->fd);
	free(c);
}

void collect_free(struct collect *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i].path);
	free(c->files);
	merge_free(c->merge); /* borrows the file */
	stored_free(c->stored);
	pprof_writer_free(c->writer);
	collected_free(c->result);
	free(c);
}

/* --- which files ------------------------------------------------------------------------------ */

static int collect_add_file(struct collect *c, const struct index_shelf *shelf,
			    const struct index_file *named, struct collect_file file)
{
	char path[INDEX_PATH_SIZE];
	int r;

	if (!index_path(shelf, named, path, sizeof(path)))
		return error_origin(-ENAMETOOLONG);
	file.path = strdup(path);
	r = file.path ? room_append(&c->files, &c->max_files, &c->n_files, file)
		      : error_origin(-ENOMEM);
	if (r)
		free(file.path);
	return r;
}

static bool collect_in_range(const struct collect *c, uint64_t start_s, uint64_t seconds)
{
	return profile_window_overlaps(start_s, seconds, c->options.select.since_ns,
				       c->options.select.until_ns);
}

/*
 * Small files of one start stand or fall together, as their samples do once they are rolled up
 * (merge.h).
 */
static int collect_add_shelf(struct collect *c, const struct index_shelf *shelf)
{
	const struct index_queue *queue = &shelf->queues[CONTENTS_PPROF];
	uint64_t not_before_s = c->options.select.not_before_s;
	size_t end;
	int r = 0;

	for (size_t i = queue->first; i < queue->end && !r; i = end) {
		uint64_t start_s = queue->files[i].start_s;
		bool any = false;

		for (end = i; end < queue->end && queue->files[end].start_s == start_s; end++)
			any |= !names_is_rolled_up(start_s, queue->files[end].seconds) &&
			       collect_in_range(c, start_s, queue->files[end].seconds);
		for (size_t j = i; j < end && !r; j++) {
			const uint32_t seconds = queue->files[j].seconds;
			bool whole = !names_is_rolled_up(start_s, seconds);

			if (whole ? any && start_s >= not_before_s
				  : collect_in_range(c, start_s, names_rolled_up_span(seconds)))
				r = collect_add_file(c, shelf, &queue->files[j],
						     (struct collect_file){.whole = whole});
		}
	}
	return r;
}

static bool collect_wants_shelf(const struct collect *c, const struct index_shelf *shelf)
{
	char dir[NAMES_ESCAPED_MAX + 16];

	if (c->options.session) {
		snprintf(dir, sizeof(dir), "sessions/s%" PRIu64 "-", c->options.session);
		return strncmp(shelf->dir, dir, strlen(dir)) == 0;
	}
	if (!c->options.service)
		return !shelf->is_session;
	return !shelf->is_session &&
	       names_unescape(strchr(shelf->dir, '/') + 1, dir, sizeof(dir)) &&
	       names_select_service(c->options.service, dir);
}

/* The one that was asked for; it may have become part of another, or have gone. */
static int collect_add_named(struct collect *c, const char *path)
{
	const struct index *index = &c->store->index;
	struct collect_file part = {0};
	struct index_shelf *shelf;
	const struct index_file *file = index_find_file(index, CONTENTS_PPROF, path, &shelf)
						?: index_find_rolled_up(index, path, &shelf,
									&part.start_s, &part.end_s);

	return file ? collect_add_file(c, shelf, file, part) : 0;
}

/* The stored files of what was asked for. */
static int collect_find_files(struct collect *c)
{
	int r = 0;

	if (c->options.open_only)
		return 0;
	if (c->options.file)
		return collect_add_named(c, c->options.file);
	for (const struct index_shelf *s = c->store->index.shelves; s && !r; s = s->hh.next)
		if (collect_wants_shelf(c, s))
			r = collect_add_shelf(c, s);
	return r;
}

int collect_new(struct collect **ret, struct store *store, const struct collect_options *options)
{
	cleanup(collect_freep) struct collect *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_origin(-ENOMEM);
	c->store = store;
	c->options = *options;
	c->result = calloc(1, sizeof(*c->result));
	if (!c->result)
		return error_origin(-ENOMEM);
	c->result->fd = -1;
	r = merge_new(&c->merge, MERGE_WINDOWS_DROPPED);
	if (!r)
		merge_note_overlap(c->merge);
	if (!r && options->times)
		merge_keep_times(c->merge);
	r = r ?: collect_find_files(c);
	c->options.service = c->options.file = NULL; /* the caller's */
	if (r)
		return r;
	*ret = steal_ptr(&c);
	return 0;
}

/* --- merging ---------------------------------------------------------------------------------- */

static int collect_refuse(struct collect *c, const char *text)
{
	profile_refuse(&c->result->message, 0, "%s; narrow the range or name a service", text);
	return COLLECT_E_REFUSED;
}

/* What the encoder has ready goes into the result. */
static int collect_put_result(struct collect *c)
{
	cleanup(freep) uint8_t *data = NULL;
	struct collected *result = c->result;
	size_t length;
	int r = pprof_writer_steal(c->writer, &data, &length);

	if (r)
		return r;
	if (result->bytes + length > c->options.max_result)
		return collect_refuse(c, "the profile is too big");
	/* Into memory, by a thread without signals: all or nothing. */
	if (write(result->fd, data, length) != (ssize_t)length)
		return error_origin(-ENOMEM);
	result->bytes += length;
	return COLLECT_E_OK;
}

/* The samples are going to be written away: see collect_spill_some(). */
static int collect_begin_spill(struct collect *c)
{
	if (!c->writer && !c->is_looking && c->next < c->n_files) {
		c->is_looking = true;
		c->n_looked = c->next;
		return 0;
	}
	c->is_looking = false;
	c->is_spilling = true;
	c->n_spilled = 0;
	if (c->writer) {
		c->result->in_pieces = true;
		return 0;
	}
	merge_fix_types(c->merge);
	c->result->fd = memfd_create("profd-collect", MFD_CLOEXEC);
	if (c->result->fd < 0)
		return error_origin(-errno);
	return pprof_writer_new(&c->writer, GZIP_LEVEL);
}

/* Whether a file has more values than CPU samples do: a file of ours begins with its types. */
static int collect_has_optional(const struct collect *c, const struct collect_file *file, bool *ret)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	int r = stored_open(&stored, c->store, file->path, c->options.max_bytes);

	*ret = false;
	if (!r)
		r = stored_step(stored);
	if (r < 0)
		return r;
	*ret = stored && stored_count_types(stored) > 2;
	return 0;
}

/*
 * Types cannot change once samples are written. Before that, the files that are still to
 * be read are checked for waits and latency.
 */
static int collect_look_some(struct collect *c)
{
	bool has_optional = false;
	int r = 0;

	for (unsigned i = 0; i < STEP_FILES && c->n_looked < c->n_files && !has_optional && !r; i++)
		r = collect_has_optional(c, &c->files[c->n_looked++], &has_optional);
	if (!r && has_optional)
		r = merge_add_optional_types(c->merge);
	if (r || (c->n_looked < c->n_files && !has_optional))
		return r;
	return collect_begin_spill(c);
}

static int collect_spill_some(struct collect *c)
{
	struct profile *profile = merge_profile(c->merge);
	int r = pprof_writer_samples(c->writer, profile, c->n_spilled, STEP_SAMPLES)
			?: collect_put_result(c);

	if (r)
		return r;
	c->n_spilled += STEP_SAMPLES;
	if (c->n_spilled < profile->n_samples)
		return COLLECT_E_OK;
	profile_clear_samples(profile);
	c->is_spilling = false;
	if (!c->is_finishing && merge_bytes(c->merge) > c->options.max_bytes)
		return collect_refuse(c, "too many different functions and addresses");
	return COLLECT_E_OK;
}

static int collect_spill_if_big(struct collect *c)
{
	return merge_bytes(c->merge) > c->options.max_bytes ? collect_begin_spill(c) : COLLECT_E_OK;
}

int collect_add(struct collect *c, const struct profile *profile)
{
	struct merge_select select = c->options.select;
	struct profile_message message;
	int64_t samples = 0;
	int r;

	select.not_before_s = 0;
	r = merge_add(c->merge, profile, &select, &samples, &message);
	if (r == MERGE_E_MISMATCH)
		return collect_refuse(c, message.text);
	if (r)
		return r;
	c->result->samples += (uint64_t)samples;
	r = collect_spill_if_big(c);
	while (!r && (c->is_looking || c->is_spilling))
		r = c->is_looking ? collect_look_some(c) : collect_spill_some(c);
	return r;
}

static void collect_close_file(struct collect *c)
{
	merge_abort(c->merge);
	stored_free(steal_ptr(&c->stored));
}

static int collect_open_file(struct collect *c, const struct collect_file *file)
{
	/* Unpacked it takes less than in memory: a file of ours fits. */
	int r = stored_open(&c->stored, c->store, file->path, 4 * c->options.max_bytes);

	if (r < 0)
		return r;
	if (r == STORED_E_DAMAGED) /* not there: too old by now */
		c->result->n_unreadable++;
	else if (r == STORED_E_OK && c->options.times)
		stored_want_times(c->stored);
	return COLLECT_E_OK;
}

/* What is wanted of one file. */
static struct merge_select collect_select(const struct collect *c, const struct collect_file *file)
{
	const uint64_t end_ns = file->end_s * NS_PER_S;
	struct merge_select select = c->options.select;

	if (file->whole)
		select.since_ns = select.until_ns = 0;
	if (file->start_s > select.not_before_s)
		select.not_before_s = file->start_s;
	if (end_ns && (!select.until_ns || end_ns < select.until_ns))
		select.until_ns = end_ns;
	return select;
}

/* What the samples refer to is there. */
static int collect_begin_file(struct collect *c, const struct collect_file *file)
{
	struct profile_message message;
	int r;

	c->file_select = collect_select(c, file);
	r = merge_begin(c->merge, stored_profile(c->stored), &c->file_select, &message);
	if (r == MERGE_E_MISMATCH)
		return collect_refuse(c, message.text);
	if (r == MERGE_E_NOTHING)
		collect_close_file(c);
	return r == MERGE_E_NOTHING ? COLLECT_E_OK : r;
}

/* Some of the samples are. */
static int collect_merge_some(struct collect *c)
{
	struct profile *profile = stored_profile(c->stored);
	int64_t samples = 0;
	int r = merge_samples(c->merge, 0, SIZE_MAX, &samples);

	if (r)
		return r;
	profile_clear_samples(profile);
	c->result->samples += (uint64_t)samples;
	return collect_spill_if_big(c);
}

static int collect_read_file(struct collect *c, const struct collect_file *file)
{
	int read = stored_step(c->stored), r = 0;

	if (read < 0)
		return read;
	if (read == STORED_E_DAMAGED) {
		c->result->n_unreadable++;
		collect_close_file(c);
		return COLLECT_E_OK;
	}
	if (read == STORED_E_TABLES) {
		c->has_tables = true;
		return collect_begin_file(c, file);
	}
	if (c->has_tables)
		r = collect_merge_some(c);
	if (!r && read == STORED_E_DONE) {
		r = merge_end(c->merge);
		collect_close_file(c);
	}
	return r;
}

static int collect_begin_finish(struct collect *c)
{
	int r;

	c->is_finishing = true;
	c->result->n_windows = merge_n_windows(c->merge);
	if (!c->result->samples)
		return COLLECT_E_DONE;
	r = merge_finish(c->merge);
	return r ? r : collect_begin_spill(c);
}

static int collect_finish_some(struct collect *c)
{
	bool done;
	int r = pprof_writer_step(c->writer, merge_profile(c->merge), STEP_THINGS, &done)
			?: collect_put_result(c);

	return r ? r : done ? COLLECT_E_DONE : COLLECT_E_OK;
}

int collect_step(struct collect *c)
{
	if (c->is_looking)
		return collect_look_some(c);
	if (c->is_spilling)
		return collect_spill_some(c);
	if (c->is_finishing)
		return collect_finish_some(c);
	if (c->stored)
		return collect_read_file(c, &c->files[c->next - 1]);
	if (c->next == c->n_files)
		return collect_begin_finish(c);
	c->has_tables = false;
	return collect_open_file(c, &c->files[c->next++]);
}

struct collected *collect_take_result(struct collect *c)
{
	return steal_ptr(&c->result);
}
