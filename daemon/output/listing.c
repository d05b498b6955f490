/* SPDX-License-Identifier: MIT */
#include "daemon/output/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"
#include "daemon/output/store.h"
#include "daemon/output/stored.h"

/* Of files that are read for their samples' sake; what is larger is listed without. */
#define LEGACY_MAX ((size_t)16 << 20)
#define TABLES_MAX ((size_t)32 << 20) /* what samples refer to */

struct range {
	uint64_t since_ns, until_ns; /* until 0: no bound */
};

void listing_free(struct listing *listing)
{
	if (!listing)
		return;
	for (size_t i = 0; i < listing->n_rows; i++) {
		free(listing->rows[i].service);
		free(listing->rows[i].file);
	}
	free(listing->rows);
	free(listing);
}

static uint64_t listing_file_end_ns(const struct index_file *file)
{
	return (file->start_s + file->seconds) * NS_PER_S;
}

static bool listing_file_overlaps(const struct index_file *file, const struct range *range)
{
	return listing_file_end_ns(file) > range->since_ns &&
	       (!range->until_ns || file->start_s * NS_PER_S < range->until_ns);
}

static int listing_add_row(struct listing *listing, const char *service, struct listing_row **ret)
{
	struct listing_row *moved = reallocarray(listing->rows, listing->n_rows + 1,
						 sizeof(*moved));

	if (!moved)
		return error_origin(-ENOMEM);
	listing->rows = moved;
	moved[listing->n_rows] = (struct listing_row){.service = strdup(service)};
	if (!moved[listing->n_rows].service)
		return error_origin(-ENOMEM);
	*ret = &moved[listing->n_rows++];
	return 0;
}

/* 0 if it is damaged: there is nothing to be had. */
static int count_legacy(struct store *store, const char *path, uint64_t *ret)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int r;

	r = store_read(store->fd, path, LEGACY_MAX, &data, &length);
	if (!r)
		r = cpuprofile_read(data, length, &profile, &message);
	*ret = r ? 0 : (uint64_t)profile_total(profile, 0);
	return r == -ENOMEM ? r : 0;
}

static int count_pprof(struct store *store, const char *path, uint64_t *ret)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	int r = stored_open(&stored, store, path, TABLES_MAX);

	*ret = 0;
	if (!r)
		r = stored_count_samples(stored, ret);
	return r == -ENOMEM ? r : 0;
}

/* Fills file->samples: from the attribute, else by reading the file. */
static int listing_read_samples(struct store *store, const char *path, bool legacy,
				struct index_file *file)
{
	cleanup(closep) int fd = -1;
	uint64_t samples;
	int r;

	fd = openat(store->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) /* somebody removed it */
		return 0;
	samples = store_get_samples(fd);
	if (samples == INDEX_SAMPLES_UNKNOWN) {
		r = legacy ? count_legacy(store, path, &samples)
			   : count_pprof(store, path, &samples);
		if (r)
			return r;
	}
	file->samples = samples;
	return 0;
}

static int list_queue(struct listing *listing, struct store *store, const struct index_shelf *shelf,
		      const struct index_queue *queue, const struct range *range)
{
	bool legacy = queue == &shelf->legacy;
	const char *slash = strchr(shelf->folder, '/');
	char path[STORE_PATH_SIZE], service[NAMES_ESCAPED_MAX + 1];

	if (!names_unescape(slash + 1, service, sizeof(service)))
		return 0;
	for (size_t i = queue->first; i < queue->end; i++) {
		struct index_file *file = &queue->files[i];
		struct listing_row *row;
		int r = 0;

		if (!listing_file_overlaps(file, range) ||
		    !index_path(shelf, file, path, sizeof(path)))
			continue;
		if (file->samples == INDEX_SAMPLES_UNKNOWN)
			r = listing_read_samples(store, path, legacy, file);
		if (!r)
			r = listing_add_row(listing, service, &row);
		if (r)
			return r;
		row->file = strdup(path);
		if (!row->file)
			return error_origin(-ENOMEM);
		row->format = legacy ? "legacy" : "pprof";
		row->start_ns = file->start_s * NS_PER_S;
		row->end_ns = listing_file_end_ns(file);
		row->samples = file->samples == INDEX_SAMPLES_UNKNOWN ? 0 : file->samples;
		row->bytes = (uint64_t)file->blocks * INDEX_BLOCK;
	}
	return 0;
}

static void sum_queue(struct listing_row *row, const struct index_queue *queue,
		      const struct range *range)
{
	for (size_t i = queue->first; i < queue->end; i++) {
		const struct index_file *file = &queue->files[i];

		if (!listing_file_overlaps(file, range))
			continue;
		if (!row->n_files || file->start_s * NS_PER_S < row->start_ns)
			row->start_ns = file->start_s * NS_PER_S;
		if (listing_file_end_ns(file) > row->end_ns)
			row->end_ns = listing_file_end_ns(file);
		row->bytes += (uint64_t)file->blocks * INDEX_BLOCK;
		row->n_files++;
	}
}

static int list_services(struct listing *listing, const struct store *store,
			 const struct range *range)
{
	for (const struct index_shelf *s = store->index.shelves; s; s = s->hh.next) {
		char service[NAMES_ESCAPED_MAX + 1];
		struct listing_row sum = {0}, *row;
		int r;

		if (s->is_session ||
		    !names_unescape(strchr(s->folder, '/') + 1, service, sizeof(service)))
			continue;
		sum_queue(&sum, &s->windows, range);
		sum_queue(&sum, &s->legacy, range);
		if (!sum.n_files)
			continue;
		r = listing_add_row(listing, service, &row);
		if (r)
			return r;
		sum.service = row->service;
		*row = sum;
	}
	return 0;
}

static int listing_compare_time(const void *a, const void *b)
{
	const struct listing_row *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->file, y->file);
}

static int listing_compare_service(const void *a, const void *b)
{
	const struct listing_row *x = a, *y = b;

	return strcmp(x->service, y->service);
}

static int list_windows(struct listing *listing, struct store *store, const char *service,
			const struct range *range)
{
	char folder[NAMES_ESCAPED_MAX + 16] = "services/";
	const struct index_shelf *shelf;
	int r;

	names_escape(service, NAMES_ESCAPED_MAX, folder + strlen(folder));
	HASH_FIND_STR(store->index.shelves, folder, shelf);
	if (!shelf)
		return 0;
	r = list_queue(listing, store, shelf, &shelf->windows, range);
	return r ? r : list_queue(listing, store, shelf, &shelf->legacy, range);
}

int listing_new(struct listing **ret, struct store *store, const char *service, uint64_t since_ns,
		uint64_t until_ns)
{
	cleanup(listing_freep) struct listing *listing = calloc(1, sizeof(*listing));
	const struct range range = {.since_ns = since_ns, .until_ns = until_ns};
	int r;

	if (!listing)
		return error_origin(-ENOMEM);
	r = service ? list_windows(listing, store, service, &range)
		    : list_services(listing, store, &range);
	if (r)
		return r;
	if (listing->n_rows)
		qsort(listing->rows, listing->n_rows, sizeof(*listing->rows),
		      service ? listing_compare_time : listing_compare_service);
	*ret = steal_ptr(&listing);
	return 0;
}
