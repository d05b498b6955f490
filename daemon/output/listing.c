/* SPDX-License-Identifier: MIT */
/*
 * Rows are made from the index alone. Only the number of samples of a window may be unknown there:
 * it is read from the file's attribute, or from the file, when it is first listed.
 */
#include "daemon/output/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "daemon/output/encoders.h"
#include "daemon/output/store.h"

/* Unix time; 0: no bound. */
struct listing_range {
	uint64_t since_ns, until_ns;
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

static bool listing_file_overlaps(const struct index_file *file, const struct listing_range *range)
{
	return profile_window_overlaps(file->start_s, file->seconds, range->since_ns,
				       range->until_ns);
}

static int listing_add_row(struct listing *listing, const char *service, struct listing_row **ret)
{
	int r = room_make(&listing->rows, &listing->max_rows, listing->n_rows + 1,
			  sizeof(*listing->rows));

	if (r)
		return r;
	*ret = &listing->rows[listing->n_rows];
	**ret = (struct listing_row){.service = strdup(service)};
	if (!(*ret)->service)
		return error_origin(-ENOMEM);
	listing->n_rows++;
	return 0;
}

/* Fills file->samples: from the attribute, else by reading the file. */
static int listing_read_samples(struct store *store, const char *path, unsigned format,
				struct index_file *file)
{
	cleanup(closep) int fd = openat(store->fd, path,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t n;
	int r = 0;

	if (fd < 0) /* it was removed */
		return 0;
	n = store_get_number(fd, STORE_SAMPLES_ATTRIBUTE);
	if (n == INDEX_SAMPLES_UNKNOWN)
		r = encoders_count(store, path, format, &n);
	if (!r)
		file->samples = n;
	return r;
}

static int list_queue(struct listing *listing, struct store *store, const struct index_shelf *shelf,
		      unsigned format, const struct listing_range *range)
{
	const struct index_queue *queue = &shelf->queues[format];
	const char *slash = strchr(shelf->dir, '/');
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
			r = listing_read_samples(store, path, format, file);
		if (!r)
			r = listing_add_row(listing, service, &row);
		if (r)
			return r;
		row->file = strdup(path);
		if (!row->file)
			return error_origin(-ENOMEM);
		row->format = contents_formats[format].name;
		row->start_ns = file->start_s * NS_PER_S;
		row->end_ns = listing_file_end_ns(file);
		row->samples = file->samples == INDEX_SAMPLES_UNKNOWN ? 0 : file->samples;
		row->bytes = (uint64_t)file->blocks * INDEX_BLOCK;
	}
	return 0;
}

static void sum_queue(struct listing_row *row, const struct index_queue *queue,
		      const struct listing_range *range)
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
			 const struct listing_range *range)
{
	for (const struct index_shelf *s = store->index.shelves; s; s = s->hh.next) {
		char service[NAMES_ESCAPED_MAX + 1];
		struct listing_row sum = {0}, *row;
		int r;

		if (s->is_session ||
		    !names_unescape(strchr(s->dir, '/') + 1, service, sizeof(service)))
			continue;
		for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++)
			sum_queue(&sum, &s->queues[i], range);
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

	return order_of(x->start_ns, y->start_ns) ?: strcmp(x->file, y->file);
}

static int listing_compare_service(const void *a, const void *b)
{
	const struct listing_row *x = a, *y = b;

	return strcmp(x->service, y->service);
}

static int list_windows(struct listing *listing, struct store *store, const char *service,
			const struct listing_range *range)
{
	char dir[NAMES_ESCAPED_MAX + 16] = "services/";
	const struct index_shelf *shelf;
	int r = 0;

	names_escape(service, NAMES_ESCAPED_MAX, dir + strlen(dir));
	HASH_FIND_STR(store->index.shelves, dir, shelf);
	if (!shelf)
		return 0;
	for (unsigned i = 0; i < N_CONTENTS_WINDOWS && !r; i++)
		r = list_queue(listing, store, shelf, i, range);
	return r;
}

int listing_new(struct listing **ret, struct store *store, const char *service, uint64_t since_ns,
		uint64_t until_ns)
{
	cleanup(listing_freep) struct listing *listing = calloc(1, sizeof(*listing));
	const struct listing_range range = {.since_ns = since_ns, .until_ns = until_ns};
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
