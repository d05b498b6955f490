/* SPDX-License-Identifier: MIT */
/* Rows are made from the index, and what it does not know yet of files (file_counts.h). */
#include "daemon/output/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "common/text_print.h"
#include "daemon/output/collect.h"
#include "daemon/output/file_counts.h"
#include "daemon/output/store.h"
#include "daemon/output/view.h"

struct listing {
	Profd__Control__Listing *rows;
	size_t max_rows;
	struct file_counts counts;
	bool only_pprof;
	uint64_t since_ns, until_ns; /* Unix time; 0: no bound */
};

void listing_free(Profd__Control__Listing *rows)
{
	profd__control__listing__free_unpacked(rows, NULL);
}

static bool listing_wants(const struct listing *l, const struct index_file *file)
{
	return profile_window_overlaps(file->start_s, file->seconds, l->since_ns, l->until_ns);
}

/* What is in the range of a file, and when. */
struct listing_part {
	uint64_t start_s, end_s;
	struct index_counts counts;
};

/* The hours of a day's file that are in the range. False: all of it is, or they are not known. */
static bool listing_find_hours(const struct listing *l, const char *path,
			       const struct index_file *file, struct listing_part *ret)
{
	uint64_t start_ns = file->start_s * NS_PER_S, end_ns = start_ns + file->seconds * NS_PER_S;
	struct index_counts hours[STORE_HOURS];

	if ((l->since_ns <= start_ns && (!l->until_ns || l->until_ns >= end_ns)) ||
	    !file_counts_find_hours(&l->counts, path, file, hours))
		return false;
	*ret = (struct listing_part){0};
	for (size_t i = 0; i < STORE_HOURS; i++) {
		uint64_t start_s = file->start_s + i * NAMES_ROLLED_HOUR_S;

		if (!profile_window_overlaps(start_s, NAMES_ROLLED_HOUR_S, l->since_ns,
					     l->until_ns))
			continue;
		ret->start_s = ret->end_s ? ret->start_s : start_s;
		ret->end_s = start_s + NAMES_ROLLED_HOUR_S;
		ret->counts.samples += hours[i].samples;
		ret->counts.cpu_ns += hours[i].cpu_ns;
		ret->counts.off_ns += hours[i].off_ns;
	}
	return true;
}

/* Counts @file in @row, and in the time that it spans. @has_samples: that no other file has. */
static void listing_count_file(const struct listing *l, Profd__Control__ListingRow *row,
			       const char *path, const struct index_file *file, bool has_samples)
{
	struct listing_part part = {file->start_s, file->start_s + file->seconds, file->counts};

	if (file->counts.samples == INDEX_SAMPLES_UNKNOWN)
		part.counts = (struct index_counts){0};
	(void)listing_find_hours(l, path, file, &part);
	if (!row->end_ns || part.start_s * NS_PER_S < row->start_ns)
		row->start_ns = part.start_s * NS_PER_S;
	if (part.end_s * NS_PER_S > row->end_ns)
		row->end_ns = part.end_s * NS_PER_S;
	row->bytes += (uint64_t)file->blocks * INDEX_BLOCK;
	row->samples += has_samples ? part.counts.samples : 0;
	row->cpu_ns += has_samples ? part.counts.cpu_ns : 0;
	row->off_cpu_ns += has_samples ? part.counts.off_ns : 0;
}

static int listing_add_row(struct listing *l, const char *service, Profd__Control__ListingRow **ret)
{
	Profd__Control__ListingRow *row = malloc(sizeof(*row));

	if (!row)
		return error_origin(-ENOMEM);
	profd__control__listing_row__init(row);
	if (room_append(&l->rows->rows, &l->max_rows, &l->rows->n_rows, row)) {
		free(row);
		return error_origin(-ENOMEM);
	}
	*ret = row;
	return text_copy(&row->service, service);
}

static int list_window(struct listing *l, const char *service, const char *path, unsigned format,
		       struct index_file *file)
{
	Profd__Control__ListingRow *row;
	int r = file_counts_know(&l->counts, path, format, file)
		?: listing_add_row(l, service, &row)
	      ?: text_copy(&row->file, path)
	      ?: text_copy(&row->format, contents_formats[format].name);
	if (r)
		return r;
	listing_count_file(l, row, path, file, true);
	return 0;
}

/* One more file of the row of all, which the first one makes. */
static int list_service_file(struct listing *l, const char *service, const char *path,
			     unsigned format, struct index_file *file,
			     Profd__Control__ListingRow **row)
{
	bool has_samples = format == CONTENTS_PPROF; /* others have the same ones once more */
	int r = *row ? 0 : listing_add_row(l, service, row);

	if (!r && has_samples)
		r = file_counts_know(&l->counts, path, format, file);
	if (r)
		return r;
	listing_count_file(l, *row, path, file, has_samples);
	(*row)->n_files++;
	return 0;
}

/* Of services, which have no files, by name. */
static int listing_compare_rows(const void *a, const void *b)
{
	const Profd__Control__ListingRow *x = *(Profd__Control__ListingRow *const *)a;
	const Profd__Control__ListingRow *y = *(Profd__Control__ListingRow *const *)b;

	return *x->file ? order_of(x->start_ns, y->start_ns) ?: strcmp(x->file, y->file)
			: strcmp(x->service, y->service);
}

static void listing_sort(Profd__Control__Listing *rows)
{
	if (rows->n_rows)
		qsort(rows->rows, rows->n_rows, sizeof(*rows->rows), listing_compare_rows);
}

static bool listing_is_full(const struct listing *l)
{
	return l->rows->n_rows > LISTING_ROWS_MAX;
}

/* The windows of @shelf, which @service is the name of, or with @is_sum all of them as one row. */
static int list_shelf(struct listing *l, const struct index_shelf *shelf, const char *service,
		      bool is_sum)
{
	unsigned n_formats = l->only_pprof ? CONTENTS_PPROF + 1 : N_CONTENTS_WINDOWS;
	Profd__Control__ListingRow *row = NULL;
	char path[STORE_PATH_SIZE];
	int r = 0;

	for (unsigned format = 0; format < n_formats; format++) {
		const struct index_queue *queue = &shelf->queues[format];

		for (size_t i = queue->first; i < queue->end && !r && !listing_is_full(l); i++) {
			struct index_file *file = &queue->files[i];

			if (!listing_wants(l, file) || !index_path(shelf, file, path, sizeof(path)))
				continue;
			r = is_sum ? list_service_file(l, service, path, format, file, &row)
				   : list_window(l, service, path, format, file);
		}
	}
	return r;
}

/* The name of the service that @shelf is of; false: it is of none, or none that @asked selects. */
static bool listing_wants_shelf(const struct index_shelf *shelf, const char *asked,
				char ret_service[NAMES_ESCAPED_MAX + 1])
{
	return !shelf->is_session &&
	       names_unescape(strchr(shelf->dir, '/') + 1, ret_service, NAMES_ESCAPED_MAX + 1) &&
	       (!asked || names_select_service(asked, ret_service));
}

static int list_shelves(struct listing *l, const struct index *index,
			const struct listing_options *options)
{
	bool is_sum = !options->service && !options->windows;
	char service[NAMES_ESCAPED_MAX + 1];
	int r = 0;

	for (const struct index_shelf *s = index->shelves; s && !r; s = s->hh.next)
		if (listing_wants_shelf(s, options->service, service))
			r = list_shelf(l, s, service, is_sum);
	return r;
}

int listing_new(Profd__Control__Listing **ret, struct store *store,
		const struct listing_options *options)
{
	cleanup(listing_freep) Profd__Control__Listing *rows = malloc(sizeof(*rows));
	struct listing l = {.rows = rows,
			    .counts = {.store = store},
			    .only_pprof = options->windows,
			    .since_ns = options->since_ns,
			    .until_ns = options->until_ns};
	int r;

	if (!rows)
		return error_origin(-ENOMEM);
	profd__control__listing__init(rows);
	r = list_shelves(&l, &store->index, options);
	if (r)
		return r;
	rows->unread_files = l.counts.n_unread;
	listing_sort(rows);
	*ret = steal_ptr(&rows);
	return 0;
}

/* The row of @service, which may be new. */
static int listing_find_row(struct listing *l, const char *service,
			    Profd__Control__ListingRow **ret)
{
	for (size_t i = 0; i < l->rows->n_rows; i++) {
		*ret = l->rows->rows[i];
		if (strcmp((*ret)->service, service) == 0)
			return 0;
	}
	return listing_add_row(l, service, ret);
}

int listing_add_open(Profd__Control__Listing *rows, const struct snapshot *open, uint64_t since_ns,
		     uint64_t until_ns)
{
	cleanup(view_freep) struct view *view = NULL;
	struct listing l = {.rows = rows, .max_rows = rows->n_rows};
	uint64_t start_s = open->start_ns / NS_PER_S;
	int r;

	if (!profile_window_overlaps(start_s, open->duration_ns / NS_PER_S + 1, since_ns, until_ns))
		return 0;
	r = view_new(&view, open);
	if (r)
		return r;
	for (size_t i = 0; i < view->n_groups && !r; i++) {
		const struct view_group *group = &view->groups[i];
		Profd__Control__ListingRow *row;

		r = listing_find_row(&l, group->service, &row);
		if (r)
			return r;
		if (!row->start_ns)
			row->start_ns = open->start_ns;
		row->end_ns = open->start_ns + open->duration_ns;
		for (size_t k = group->first; k < group->first + group->n; k++) {
			const struct view_entry *e = &view->entries[k];

			row->samples += view_is_wait(e) ? 0 : e->entry->count;
			row->cpu_ns += view_cpu_ns(view, e);
			row->off_cpu_ns += view_is_wait(e) ? e->entry->weight : 0;
		}
	}
	listing_sort(rows);
	return r;
}

/* --- of sessions ------------------------------------------------------------------------------ */

static bool listing_has_session(const struct index_shelf *shelf, const uint64_t *ids, size_t n_ids)
{
	uint64_t id;

	if (!shelf->is_session || sscanf(shelf->dir, "sessions/s%" SCNu64 "-", &id) != 1)
		return false;
	for (size_t i = 0; i < n_ids; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* The oldest file at the heads of the queues, which @at has the places of; NULL: no more. */
static const struct index_file *listing_next_file(const struct index_shelf *shelf, size_t *at)
{
	const struct index_file *oldest = NULL;
	unsigned from = 0;

	for (unsigned format = 0; format < N_CONTENTS_WINDOWS; format++) {
		const struct index_queue *queue = &shelf->queues[format];
		size_t next = queue->first + at[format];

		if (next == queue->end || (oldest && oldest->start_s <= queue->files[next].start_s))
			continue;
		oldest = &queue->files[next];
		from = format;
	}
	at[from] += oldest != NULL;
	return oldest;
}

static void list_session(const struct store *store, const struct index_shelf *shelf, FILE *out)
{
	size_t at[N_CONTENTS_WINDOWS] = {0};
	const struct index_file *file;
	char path[STORE_PATH_SIZE];

	while ((file = listing_next_file(shelf, at)))
		if (index_path(shelf, file, path, sizeof(path)))
			fprintf(out, "%s/%s%c", store->path, path, 0);
}

int listing_of_sessions(struct collected **ret, const struct store *store, const uint64_t *ids,
			size_t n_ids)
{
	cleanup(collected_freep) struct collected *list = malloc(sizeof(*list));
	cleanup(closep) int fd = memfd_create("profd-paths", MFD_CLOEXEC);
	cleanup(fclosep) FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!list)
		return error_origin(-ENOMEM);
	*list = (struct collected){.fd = -1};
	if (!out)
		return error_origin(-errno);
	list->fd = fcntl(steal_fd(&fd), F_DUPFD_CLOEXEC, 3);
	for (const struct index_shelf *s = store->index.shelves; s; s = s->hh.next)
		if (listing_has_session(s, ids, n_ids))
			list_session(store, s, out);
	if (list->fd < 0 || fflush(out) || ferror(out))
		return error_origin(-errno);
	list->bytes = (uint64_t)ftello(out);
	if (list->bytes > LISTING_BYTES_MAX)
		snprintf(list->message.text, sizeof(list->message.text),
			 "there are too many files to list; see %s/sessions", store->path);
	*ret = steal_ptr(&list);
	return 0;
}
