/* SPDX-License-Identifier: MIT */
/*
 * A queue's live files are a slice of its array: retention takes from the front, writes append to
 * the end, and the gap in front is closed before the array grows.
 */
#include "daemon/output/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"

static void queue_deinit(struct index_queue *queue)
{
	for (size_t i = queue->first; i < queue->end; i++)
		free(queue->files[i].tail);
	free(queue->files);
}

static void shelf_free(struct index_shelf *shelf)
{
	if (!shelf)
		return;
	for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++)
		queue_deinit(&shelf->queues[i]);
	free(shelf->dir);
	free(shelf);
}

void index_deinit(struct index *index)
{
	struct index_shelf *shelf, *next;
	struct index_payer *payer, *next_payer;

	HASH_ITER (hh, index->shelves, shelf, next) {
		HASH_DEL(index->shelves, shelf);
		shelf_free(shelf);
	}
	HASH_ITER (hh, index->payers, payer, next_payer) {
		HASH_DEL(index->payers, payer);
		free(payer);
	}
	free(index->epochs);
	*index = (struct index){0};
}

/* The first two parts of a path. */
static size_t index_shelf_name_length(const char *dir)
{
	return (size_t)(strchrnul(strchr(dir, '/') + 1, '/') - dir);
}

static int index_find_payer(struct index *index, uid_t uid, struct index_payer **ret)
{
	HASH_FIND(hh, index->payers, &uid, sizeof(uid), *ret);
	if (*ret)
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_origin(-ENOMEM);
	(*ret)->uid = uid;
	HASH_ADD(hh, index->payers, uid, sizeof(uid), *ret);
	return 0;
}

/* A user's own services are his; whose a session is, index_pay() tells. */
static int index_find_service_payer(struct index *index, struct index_shelf *shelf)
{
	uint32_t uid;

	if (shelf->is_session || !names_parse_user_service(strchr(shelf->dir, '/') + 1, &uid))
		return 0;
	return index_find_payer(index, uid, &shelf->payer);
}

int index_shelf(struct index *index, const char *dir, struct index_shelf **ret)
{
	size_t length = index_shelf_name_length(dir);
	struct index_shelf *shelf;

	HASH_FIND(hh, index->shelves, dir, length, shelf);
	if (!shelf) {
		shelf = calloc(1, sizeof(*shelf));
		if (!shelf)
			return error_origin(-ENOMEM);
		shelf->dir = strndup(dir, length);
		if (!shelf->dir) {
			free(shelf);
			return error_origin(-ENOMEM);
		}
		shelf->is_session = strncmp(dir, "sessions/", 9) == 0;
		if (index_find_service_payer(index, shelf)) {
			shelf_free(shelf);
			return error_origin(-ENOMEM);
		}
		HASH_ADD_KEYPTR(hh, index->shelves, shelf->dir, length, shelf);
	}
	*ret = shelf;
	return 0;
}

static void index_count(struct index *index, struct index_shelf *shelf, uint64_t blocks,
			uint64_t n_files)
{
	index->blocks += blocks;
	index->n_files += n_files;
	if (shelf->payer && !shelf->is_session) {
		shelf->payer->service_blocks += blocks;
	} else if (shelf->payer) {
		shelf->payer->blocks += blocks;
		shelf->payer->n_files += n_files;
	}
}

int index_pay(struct index *index, const char *dir, uid_t uid)
{
	struct index_shelf *shelf;
	struct index_payer *payer;
	int r;

	HASH_FIND(hh, index->shelves, dir, index_shelf_name_length(dir), shelf);
	if (!shelf || (shelf->payer && shelf->payer->uid == uid))
		return 0;
	r = index_find_payer(index, uid, &payer);
	if (r)
		return r;
	for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++) {
		const struct index_queue *queue = &shelf->queues[i];

		for (size_t j = queue->first; j < queue->end; j++) {
			if (shelf->payer) {
				shelf->payer->blocks -= queue->files[j].blocks;
				shelf->payer->n_files--;
			}
			payer->blocks += queue->files[j].blocks;
			payer->n_files++;
		}
	}
	shelf->payer = payer;
	return 0;
}

size_t index_shares(const struct index *index, struct index_share *ret, size_t max)
{
	size_t n = 0;

	for (const struct index_payer *payer = index->payers; payer; payer = payer->hh.next) {
		const struct index_share share = {payer->uid, payer->blocks * INDEX_BLOCK,
						  payer->n_files};
		size_t i = n;

		if (!share.n_files || (n == max && ret[n - 1].bytes >= share.bytes))
			continue;
		if (n < max)
			n++;
		else
			i--;
		for (; i && ret[i - 1].bytes < share.bytes; i--)
			ret[i] = ret[i - 1];
		ret[i] = share;
	}
	return n;
}

/* Finds or makes. */
static int index_epoch(struct index *index, const char *name, uint64_t begin_s,
		       struct index_epoch **ret)
{
	struct index_epoch *moved;
	size_t i = index->n_epochs;

	while (i && index->epochs[i - 1].begin_s > begin_s)
		i--;
	if (i && index->epochs[i - 1].begin_s == begin_s) {
		*ret = &index->epochs[i - 1];
		return 0;
	}
	moved = reallocarray(index->epochs, index->n_epochs + 1, sizeof(*moved));
	if (!moved)
		return error_origin(-ENOMEM);
	index->epochs = moved;
	memmove(&moved[i + 1], &moved[i], (index->n_epochs - i) * sizeof(*moved));
	index->n_epochs++;
	moved[i] = (struct index_epoch){.begin_s = begin_s};
	snprintf(moved[i].name, sizeof(moved[i].name), "%s", name);
	*ret = &moved[i];
	return 0;
}

static void index_epoch_changed(struct index *index, struct index_epoch *epoch, uint64_t blocks,
				uint64_t n_files)
{
	epoch->blocks += blocks;
	epoch->n_files += n_files;
	index->blocks += blocks;
	index->n_files += n_files;
}

int index_add_image(struct index *index, const char *dir, uint64_t blocks, uint64_t n_files)
{
	const char *path = dir + strlen("images/");
	char name[NAMES_EPOCH_SIZE];
	struct index_epoch *epoch = NULL;
	uint64_t begin_s;
	int r;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "/"), path);
	if (!names_parse_epoch(name, &begin_s))
		return error_origin(-EINVAL);
	r = index_epoch(index, name, begin_s, &epoch);
	if (!r)
		index_epoch_changed(index, epoch, blocks, n_files);
	return r;
}

static int queue_reserve(struct index_queue *queue)
{
	size_t n = index_queue_length(queue);

	if (queue->end == queue->capacity && queue->first > n) {
		memmove(queue->files, queue->files + queue->first, n * sizeof(*queue->files));
		queue->first = 0;
		queue->end = n;
	}
	return room_make(&queue->files, &queue->capacity, queue->end + 1, sizeof(*queue->files));
}

int index_append(struct index *index, const char *dir, const char *name, uint64_t blocks,
		 struct index_counts counts, struct index_queue **ret)
{
	char expected[INDEX_PATH_SIZE];
	struct names_window window;
	struct index_queue *queue;
	struct index_shelf *shelf;
	struct index_file file;
	int r;

	if (ret)
		*ret = NULL;
	if (!names_parse_window(name, &window)) /* of none of the formats that are listed */
		return 0;
	r = index_shelf(index, dir, &shelf);
	if (r)
		return r;
	/* One that lies in another day's directory would be looked for in its own. */
	if (!index_dir_path(shelf, window.start_s, expected, sizeof(expected)) ||
	    strcmp(expected, dir) != 0)
		return 0;
	queue = &shelf->queues[window.format];
	file = (struct index_file){
		.start_s = window.start_s,
		.seconds = window.seconds,
		.counts = counts,
		.blocks = blocks > INDEX_BLOCKS_MAX ? INDEX_BLOCKS_MAX : (uint32_t)blocks,
	};
	if (queue_reserve(queue))
		return -ENOMEM;
	if (strcmp(window.tail, "pb.gz") != 0) {
		file.tail = strdup(window.tail);
		if (!file.tail)
			return error_origin(-ENOMEM);
	}
	queue->files[queue->end++] = file;
	index_count(index, shelf, file.blocks, 1);
	if (ret)
		*ret = queue;
	return 0;
}

int index_add(struct index *index, const char *dir, const char *name, uint64_t blocks,
	      struct index_counts counts)
{
	struct index_queue *queue;
	struct index_file file;
	size_t i;
	int r = index_append(index, dir, name, blocks, counts, &queue);

	if (r || !queue)
		return r;
	/* It is mostly the newest. */
	i = queue->end - 1;
	file = queue->files[i];
	for (; i > queue->first && queue->files[i - 1].start_s > file.start_s; i--)
		queue->files[i] = queue->files[i - 1];
	queue->files[i] = file;
	return 0;
}

DEFINE_ORDER(index_file_compare, struct index_file,
	     order_of(x->start_s, y->start_s) ?: order_of(x->seconds, y->seconds))

void index_sort(struct index_shelf *shelf)
{
	for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++) {
		struct index_queue *queue = &shelf->queues[i];

		if (index_queue_length(queue))
			qsort(queue->files + queue->first, index_queue_length(queue),
			      sizeof(*queue->files), index_file_compare);
	}
}

void index_remove(struct index *index, struct index_shelf *shelf, struct index_queue *queue,
		  size_t i)
{
	struct index_file *files = queue->files;

	index_count(index, shelf, -(uint64_t)files[i].blocks, -UINT64_C(1));
	free(files[i].tail);
	if (i == queue->end - 1) {
		queue->end--;
	} else {
		memmove(&files[queue->first + 1], &files[queue->first],
			(i - queue->first) * sizeof(*files));
		queue->first++;
	}
	if (queue->first == queue->end)
		queue->first = queue->end = 0;
}

bool index_drop_shelf(struct index *index, struct index_shelf *shelf)
{
	if (index_shelf_length(shelf))
		return false;
	HASH_DEL(index->shelves, shelf);
	shelf_free(shelf);
	return true;
}

void index_drop_epoch(struct index *index, size_t i)
{
	struct index_epoch *epoch = &index->epochs[i];

	index_epoch_changed(index, epoch, -epoch->blocks, -epoch->n_files);
	index->n_epochs--;
	memmove(epoch, epoch + 1, (index->n_epochs - i) * sizeof(*epoch));
}

bool index_dir_path(const struct index_shelf *shelf, uint64_t start_s, char *ret, size_t size)
{
	char day[NAMES_DAY_SIZE];
	int n;

	if (shelf->is_session) {
		n = snprintf(ret, size, "%s", shelf->dir);
	} else {
		names_day(start_s, day);
		n = snprintf(ret, size, "%s/%s", shelf->dir, day);
	}
	return n > 0 && (size_t)n < size;
}

bool index_path(const struct index_shelf *shelf, const struct index_file *file, char *ret,
		size_t size)
{
	struct names_window window = {
		.start_s = file->start_s,
		.seconds = file->seconds,
		.tail = index_tail(file),
	};
	size_t length;

	if (!index_dir_path(shelf, file->start_s, ret, size))
		return false;
	length = strlen(ret);
	if (length + 2 > size)
		return false;
	ret[length++] = '/';
	return names_window(&window, ret + length, size - length);
}

const struct index_file *index_find_file(const struct index *index, enum contents_format format,
					 const char *path, struct index_shelf **ret_shelf)
{
	const char *name = strrchr(path, '/');
	const struct index_queue *queue;
	struct names_window window;
	struct index_shelf *shelf;
	char found[INDEX_PATH_SIZE];
	size_t i;

	if (!name || !names_parse_window(name + 1, &window) || window.format != format)
		return NULL;
	HASH_FIND(hh, index->shelves, path, index_shelf_name_length(path), shelf);
	if (!shelf)
		return NULL;
	queue = &shelf->queues[format];
	i = queue->first + partition_point(index_queue_length(queue), k,
					   queue->files[queue->first + k].start_s < window.start_s);
	for (; i < queue->end && queue->files[i].start_s == window.start_s; i++) {
		if (!index_path(shelf, &queue->files[i], found, sizeof(found)) ||
		    strcmp(found, path) != 0)
			continue;
		*ret_shelf = shelf;
		return &queue->files[i];
	}
	return NULL;
}

/* The file of @queue with this start and length. */
static const struct index_file *index_find_span(const struct index_queue *queue, uint64_t start_s,
						uint32_t seconds)
{
	size_t i = queue->first + partition_point(index_queue_length(queue), k,
						  queue->files[queue->first + k].start_s < start_s);

	for (; i < queue->end && queue->files[i].start_s == start_s; i++)
		if (queue->files[i].seconds == seconds)
			return &queue->files[i];
	return NULL;
}

const struct index_file *index_find_rolled_up(const struct index *index, const char *path,
					      struct index_shelf **ret_shelf, uint64_t *ret_start_s,
					      uint64_t *ret_end_s)
{
	static const uint32_t spans[] = {NAMES_ROLLED_HOUR_S, NAMES_ROLLED_DAY_S};
	const char *name = strrchr(path, '/');
	const struct index_file *found = NULL;
	char first[INDEX_PATH_SIZE];
	struct names_window window;
	struct index_shelf *shelf;

	if (!name || !names_parse_window(name + 1, &window))
		return NULL;
	HASH_FIND(hh, index->shelves, path, index_shelf_name_length(path), shelf);
	if (!shelf ||
	    !index_path(shelf,
			&(struct index_file){.start_s = window.start_s, .seconds = window.seconds},
			first, sizeof(first)) ||
	    strcmp(first, path) != 0)
		return NULL;
	for (size_t i = 0; !found && i < ARRAY_SIZE(spans); i++)
		found = index_find_span(index_pprof(shelf),
					window.start_s - window.start_s % spans[i], spans[i]);
	if (!found)
		return NULL;
	*ret_shelf = shelf;
	*ret_start_s = window.start_s;
	*ret_end_s = window.start_s +
		     (names_is_rolled_up(window.start_s, window.seconds) ? window.seconds : 1);
	return found;
}

void index_span(const struct index *index, uint64_t *ret_oldest, uint64_t *ret_newest)
{
	uint64_t oldest = index->n_epochs ? index->epochs[0].begin_s : 0, newest = 0;

	for (const struct index_shelf *shelf = index->shelves; shelf; shelf = shelf->hh.next) {
		for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++) {
			const struct index_queue *queue = &shelf->queues[i];
			const struct index_file *first, *last;

			if (!index_queue_length(queue))
				continue;
			first = &queue->files[queue->first];
			last = &queue->files[queue->end - 1];
			if (!oldest || first->start_s < oldest)
				oldest = first->start_s;
			if (last->start_s + last->seconds > newest)
				newest = last->start_s + last->seconds;
		}
	}
	*ret_oldest = oldest;
	*ret_newest = newest;
}
