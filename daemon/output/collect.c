/* SPDX-License-Identifier: MIT */
#include "daemon/output/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/profile/message.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"

#define FILE_MAX   ((size_t)64 << 20) /* of a compressed file */
#define GZIP_LEVEL 6

/* Files are remembered by what their names are made of: there may be tens of thousands. */
struct file {
	uint64_t start_s;
	char *tail; /* owned; NULL: "pb.gz" */
	uint32_t seconds;
	uint32_t shelf; /* into shelves */
	bool whole;     /* in range; else its windows are looked at */
};

struct collect {
	struct store *store;
	struct collect_options options;
	char **shelves; /* folders */
	size_t n_shelves;
	struct file *files;
	size_t n_files, max_files, next;
	struct merge *merge;
	struct pprof_writer *writer;
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
	for (size_t i = 0; i < c->n_shelves; i++)
		free(c->shelves[i]);
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i].tail);
	free(c->shelves);
	free(c->files);
	merge_free(c->merge);
	pprof_writer_free(c->writer);
	collected_free(c->result);
	free(c);
}

/* --- which files ------------------------------------------------------------------------------ */

static int add_file(struct collect *c, const struct index_file *from, bool whole)
{
	struct file *file;

	if (c->n_files == c->max_files) {
		size_t bigger = c->max_files ? c->max_files * 2 : 64;
		struct file *moved = reallocarray(c->files, bigger, sizeof(*moved));

		if (!moved)
			return error_origin(-ENOMEM);
		c->files = moved;
		c->max_files = bigger;
	}
	file = &c->files[c->n_files];
	*file = (struct file){
		.start_s = from->start_s,
		.seconds = from->seconds,
		.shelf = (uint32_t)(c->n_shelves - 1),
		.whole = whole,
	};
	if (from->tail && !(file->tail = strdup(from->tail)))
		return error_origin(-ENOMEM);
	c->n_files++;
	return 0;
}

static bool in_range(const struct collect *c, uint64_t start_s, uint64_t seconds)
{
	return profile_window_overlaps(start_s, seconds, c->options.select.since_ns,
				       c->options.select.until_ns);
}

/*
 * Small files of one start stand or fall together, as their samples do once they are rolled up
 * (merge.h). What an hour's file holds begins in this hour, and may end in the next.
 */
static int add_queue(struct collect *c, const struct index_queue *queue)
{
	uint64_t not_before_s = c->options.select.not_before_s;
	size_t end;
	int r = 0;

	for (size_t i = queue->first; i < queue->end && !r; i = end) {
		uint64_t start_s = queue->files[i].start_s;
		bool any = false;

		for (end = i; end < queue->end && queue->files[end].start_s == start_s; end++)
			any |= !index_is_hour(&queue->files[end]) &&
			       in_range(c, start_s, queue->files[end].seconds);
		for (size_t j = i; j < end && !r; j++) {
			bool is_hour = index_is_hour(&queue->files[j]);

			if (is_hour && in_range(c, start_s, 2 * (uint64_t)INDEX_HOUR_S))
				r = add_file(c, &queue->files[j], false);
			else if (!is_hour && any && start_s >= not_before_s)
				r = add_file(c, &queue->files[j], true);
		}
	}
	return r;
}

static bool wants_shelf(const struct collect *c, const struct index_shelf *shelf)
{
	char folder[NAMES_ESCAPED_MAX + 16];

	if (c->options.session) {
		snprintf(folder, sizeof(folder), "sessions/s%" PRIu64 "-", c->options.session);
		return strncmp(shelf->folder, folder, strlen(folder)) == 0;
	}
	if (!c->options.service)
		return !shelf->is_session;
	snprintf(folder, sizeof(folder), "services/");
	names_escape(c->options.service, NAMES_ESCAPED_MAX, folder + strlen(folder));
	return strcmp(shelf->folder, folder) == 0;
}

static int add_shelf(struct collect *c, const struct index_shelf *shelf)
{
	char **moved = reallocarray(c->shelves, c->n_shelves + 1, sizeof(*moved));

	if (!moved)
		return error_origin(-ENOMEM);
	c->shelves = moved;
	moved[c->n_shelves] = strdup(shelf->folder);
	if (!moved[c->n_shelves])
		return error_origin(-ENOMEM);
	c->n_shelves++;
	return add_queue(c, &shelf->windows);
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
	for (const struct index_shelf *s = store->index.shelves; s && !r; s = s->hh.next)
		if (wants_shelf(c, s))
			r = add_shelf(c, s);
	c->options.service = NULL; /* the caller's */
	if (r)
		return r;
	*ret = steal_ptr(&c);
	return 0;
}

/* --- merging ---------------------------------------------------------------------------------- */

static int refuse(struct collect *c, const char *text)
{
	profile_refuse(&c->result->message, 0, "%s; narrow the range or name a service", text);
	return COLLECT_E_REFUSED;
}

/* What the encoder has ready goes into the result. */
static int put_result(struct collect *c)
{
	cleanup(freep) uint8_t *data = NULL;
	struct collected *result = c->result;
	size_t length;
	int r = pprof_writer_take(c->writer, &data, &length);

	if (r)
		return r;
	if (result->bytes + length > c->options.max_result)
		return refuse(c, "the profile gets too big");
	for (size_t done = 0; done < length;) {
		ssize_t n = write(result->fd, data + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_origin(-errno);
		done += (size_t)n;
	}
	result->bytes += length;
	return COLLECT_E_OK;
}

/* Writes the samples away. */
static int spill(struct collect *c)
{
	int r = 0;

	if (!c->writer) {
		c->result->fd = memfd_create("profd-collect", MFD_CLOEXEC);
		if (c->result->fd < 0)
			return error_origin(-errno);
		r = pprof_writer_new(&c->writer, GZIP_LEVEL);
	} else {
		c->result->in_pieces = true;
	}
	if (!r)
		r = pprof_writer_samples(c->writer, merge_profile(c->merge));
	if (r)
		return r;
	profile_clear_samples(merge_profile(c->merge));
	return put_result(c);
}

static int merge_one(struct collect *c, const struct profile *profile,
		     const struct merge_select *select)
{
	struct profile_message message;
	int64_t samples = 0;
	int r = merge_add(c->merge, profile, select, &samples, &message);

	if (r == MERGE_E_MISMATCH)
		return refuse(c, message.text);
	if (r)
		return r;
	c->result->samples += (uint64_t)samples;
	if (merge_bytes(c->merge) <= c->options.max_bytes)
		return COLLECT_E_OK;
	r = spill(c);
	if (!r && merge_bytes(c->merge) > c->options.max_bytes)
		r = refuse(c, "there are too many different functions and addresses");
	return r;
}

int collect_add(struct collect *c, const struct profile *profile)
{
	struct merge_select select = c->options.select;

	select.not_before_s = 0;
	return merge_one(c, profile, &select);
}

static int merge_file(struct collect *c, const struct file *file)
{
	const struct index_shelf shelf = {
		.folder = c->shelves[file->shelf],
		.is_session = c->options.session != 0,
	};
	const struct index_file named = {.start_s = file->start_s,
					 .seconds = file->seconds,
					 .tail = file->tail};
	struct merge_select select = c->options.select;
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	char path[STORE_PATH_SIZE];
	size_t length;
	int r;

	if (!index_path(&shelf, &named, path, sizeof(path)))
		return error_origin(-ENAMETOOLONG);
	r = store_read(c->store->fd, path, FILE_MAX, &data, &length);
	if (r == -ENOENT) /* too old by now */
		return COLLECT_E_OK;
	if (!r)
		r = pprof_read(data, length, 4 * c->options.max_bytes, &profile, &message);
	if (r == -ENOMEM)
		return r;
	if (r) {
		c->result->n_unreadable++;
		return COLLECT_E_OK;
	}
	if (file->whole)
		select.since_ns = select.until_ns = 0;
	return merge_one(c, profile, &select);
}

static int finish(struct collect *c)
{
	struct profile *profile = merge_profile(c->merge);
	int r;

	c->result->n_windows = merge_n_windows(c->merge);
	if (!c->result->samples)
		return COLLECT_E_DONE;
	r = merge_finish(c->merge);
	if (!r)
		r = spill(c);
	if (!r)
		r = pprof_writer_finish(c->writer, profile);
	if (!r)
		r = put_result(c);
	return r ? r : COLLECT_E_DONE;
}

int collect_step(struct collect *c)
{
	if (c->next < c->n_files)
		return merge_file(c, &c->files[c->next++]);
	return finish(c);
}

struct collected *collect_take(struct collect *c)
{
	return steal_ptr(&c->result);
}
