/* SPDX-License-Identifier: MIT */
/*
 * Files are entries, which keep the number of their temporary name until they are renamed; whatever
 * goes wrong, an entry knows what to unlink. One directory is open at a time, as files of one come
 * in a row.
 */
#include "daemon/output/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/room.h"

#define MODE_FILE  0640
#define SUFFIX_MAX 1000 /* windows of one second that a service can have */

enum entry_state { ENTRY_WRITTEN, ENTRY_RENAMED, ENTRY_FAILED };

struct batch_entry {
	char *dir, *name;
	uid_t owner;
	uint64_t temporary; /* number in the temporary name */
	struct index_counts counts;
	uint64_t blocks;
	enum entry_state state;
	bool has_share, replace;
	bool existed;        /* replaced an older version ... */
	uint64_t old_blocks; /* ... which had so many */
};

struct batch {
	struct store *store;
	struct batch_entry *entries;
	size_t n_entries, capacity;
	uint64_t bytes;
	/* The directory in use: files of one directory come in a row. */
	int fd;
	char fd_dir[STORE_PATH_SIZE];
	bool given;
	bool committed;
	bool is_unsynced; /* not each file was waited for on its own */
	int file_fd;      /* of the newest entry, while it is written */
	uint64_t file_bytes;
};

int batch_new(struct batch **ret, struct store *store)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return error_origin(-ENOMEM);
	batch->store = store;
	batch->fd = batch->file_fd = -1;
	*ret = batch;
	return 0;
}

static void temporary_name(uint64_t number, char ret[32])
{
	snprintf(ret, 32, NAMES_TEMPORARY "%" PRIu64, number);
}

static void batch_leave_dir(struct batch *batch)
{
	closep(&batch->fd);
	batch->fd = -1;
}

/* Makes batch->fd the directory @path. */
static int batch_enter_dir(struct batch *batch, const char *path, uid_t owner)
{
	int fd, r;

	if (batch->fd >= 0 && strcmp(batch->fd_dir, path) == 0)
		return 0;
	r = store_open_dir(batch->store, path, owner, &fd, &batch->given);
	if (r)
		return r;
	batch_leave_dir(batch);
	batch->fd = fd;
	snprintf(batch->fd_dir, sizeof(batch->fd_dir), "%s", path);
	return 0;
}

/* Removes the directory @path if nothing is in it. */
static void batch_prune_dir(struct batch *batch, const char *path)
{
	batch_leave_dir(batch);
	store_prune(batch->store, path);
}

static int batch_write_all(struct batch *batch, const uint8_t *data, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = batch->store->ops->write(batch->file_fd, data + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_origin(n < 0 ? -errno : -EIO);
		done += (size_t)n;
	}
	batch->bytes += length;
	return 0;
}

/* The file that is written gets no more; an error takes it back. */
static int batch_close_file(struct batch *batch, int error)
{
	closep(&batch->file_fd);
	batch->file_fd = -1;
	if (error)
		batch_rewind(batch, batch->n_entries - 1);
	return error;
}

static int batch_open_file(struct batch *batch, const struct batch_entry *e)
{
	char temporary[32];

	temporary_name(e->temporary, temporary);
	batch->file_fd = batch->store->ops->open(batch->fd, temporary,
						 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
							 O_CLOEXEC,
						 MODE_FILE);
	if (batch->file_fd < 0 || fchmod(batch->file_fd, MODE_FILE) < 0)
		return error_origin(-errno);
	if (batch->given && fchown(batch->file_fd, e->owner, (gid_t)-1) < 0)
		batch->store->acl_refused = true;
	return 0;
}

int batch_begin(struct batch *batch, const struct batch_file *file)
{
	struct batch_entry e = {
		.dir = strdup(file->dir),
		.name = strdup(file->name),
		.owner = file->owner,
		.has_share = file->has_share,
		.counts = file->counts,
		.replace = file->replace,
		.temporary = batch->store->n_temporary++,
	};
	int r = e.dir && e.name ? batch_enter_dir(batch, e.dir, e.owner) : error_origin(-ENOMEM);

	if (!r && e.has_share)
		store_set_number(batch->fd, STORE_PAYER_ATTRIBUTE, e.owner);
	if (!r)
		r = room_append(&batch->entries, &batch->capacity, &batch->n_entries, e);
	if (r) {
		free(e.dir);
		free(e.name);
		batch_prune_dir(batch, file->dir);
		return r;
	}
	batch->file_bytes = 0;
	r = batch_open_file(batch, &e);
	return r ? batch_close_file(batch, r) : 0;
}

/* The newest entry is whole, unless @error. */
static int batch_end_file(struct batch *batch, int error, bool sync)
{
	struct batch_entry *e = &batch->entries[batch->n_entries - 1];
	struct stat st;

	if (!error && !e->replace)
		store_set_counts(batch->file_fd, STORE_COUNTS_ATTRIBUTE, &e->counts, 1);
	if (!error && sync && batch->store->ops->sync_file(batch->file_fd) < 0)
		error = error_origin(-errno);
	if (!error && fstat(batch->file_fd, &st) < 0)
		error = error_origin(-errno);
	if (!error) /* some file systems know them only when they are on the disk */
		e->blocks = (uint64_t)st.st_blocks;
	return batch_close_file(batch, error);
}

int batch_add(struct batch *batch, const struct batch_file *file, const uint8_t *data,
	      size_t length)
{
	int r = batch_begin(batch, file);

	if (r)
		return r;
	batch->is_unsynced = true;
	if (file->events)
		batch_note_events(batch, file->events);
	return batch_end_file(batch, batch_write_all(batch, data, length), false);
}

int batch_write(struct batch *batch, const uint8_t *data, size_t length)
{
	int r = batch_write_all(batch, data, length);

	if (r)
		return batch_close_file(batch, r);
	/* Asks and does not wait; what cannot be begun now the end waits for. */
	(void)sync_file_range(batch->file_fd, (off_t)batch->file_bytes, (off_t)length,
			      SYNC_FILE_RANGE_WRITE);
	batch->file_bytes += length;
	return 0;
}

int batch_end(struct batch *batch, struct index_counts counts)
{
	batch->entries[batch->n_entries - 1].counts = counts;
	return batch_end_file(batch, 0, true);
}

void batch_note_events(struct batch *batch, const char *events)
{
	store_set_events(batch->file_fd, events);
}

void batch_note_hours(struct batch *batch, const struct index_counts hours[STORE_HOURS])
{
	store_set_counts(batch->file_fd, STORE_HOURS_ATTRIBUTE, hours, STORE_HOURS);
}

size_t batch_mark(const struct batch *batch)
{
	return batch->n_entries;
}

uint64_t batch_bytes(const struct batch *batch)
{
	return batch->bytes;
}

/* Removes an entry's file, whatever name it has, unless it replaced another. */
static void batch_undo_entry(struct batch *batch, struct batch_entry *e)
{
	char temporary[32];

	if (batch_enter_dir(batch, e->dir, e->owner) < 0)
		return; /* the next start removes temporary files */
	temporary_name(e->temporary, temporary);
	(void)batch->store->ops->unlink(batch->fd, e->state == ENTRY_RENAMED ? e->name : temporary,
					0);
	e->state = ENTRY_FAILED;
}

void batch_rewind(struct batch *batch, size_t mark)
{
	while (batch->n_entries > mark) {
		struct batch_entry *e = &batch->entries[--batch->n_entries];

		batch_undo_entry(batch, e);
		batch_prune_dir(batch, e->dir);
		free(e->dir);
		free(e->name);
	}
}

/* renameat2(2): file systems without RENAME_NOREPLACE say EINVAL; profd is the only writer here. */
static int batch_rename_noreplace(struct batch *batch, const char *from, const char *to)
{
	const struct file_ops *ops = batch->store->ops;
	struct stat st;

	if (ops->rename(batch->fd, from, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (fstatat(batch->fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return ops->rename(batch->fd, from, to, 0) == 0 ? 0 : -errno;
}

/* Renames to e->name, or to that with ".1" and so on where it is taken; e->name follows. */
static int batch_rename_new(struct batch *batch, struct batch_entry *e, const char *temporary)
{
	cleanup(freep) char *name = strdup(e->name);

	for (unsigned suffix = 1; name && suffix <= SUFFIX_MAX; suffix++) {
		int r = batch_rename_noreplace(batch, temporary, name);

		if (r == 0) {
			free(e->name);
			e->name = steal_ptr(&name);
			return 0;
		}
		if (r != -EEXIST)
			return error_origin(r);
		freep(&name);
		if (asprintf(&name, "%s.%u", e->name, suffix) < 0)
			name = NULL;
	}
	return error_origin(name ? -EEXIST : -ENOMEM);
}

static int batch_rename_entry(struct batch *batch, struct batch_entry *e)
{
	char temporary[32];
	struct stat st;
	int r = batch_enter_dir(batch, e->dir, e->owner);

	if (r)
		return r;
	temporary_name(e->temporary, temporary);
	if (!e->replace) {
		r = batch_rename_new(batch, e, temporary);
	} else {
		e->existed = fstatat(batch->fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
		e->old_blocks = e->existed ? (uint64_t)st.st_blocks : 0;
		if (batch->store->ops->rename(batch->fd, temporary, e->name, 0) < 0)
			r = error_origin(-errno);
	}
	if (r)
		return r;
	e->state = ENTRY_RENAMED;
	return 0;
}

/*
 * Step 3 for the new or the replacing files. The first error ends it as long as all can be taken
 * back; past the first replacement the others are still renamed.
 */
static int batch_rename_all(struct batch *batch, bool replace, size_t *ret_n)
{
	int first = 0;

	for (size_t i = 0; i < batch->n_entries; i++) {
		struct batch_entry *e = &batch->entries[i];
		int r;

		if (e->replace != replace)
			continue;
		r = batch_rename_entry(batch, e);
		if (!r) {
			++*ret_n;
			continue;
		}
		if (!first)
			first = r;
		if (!replace || *ret_n == 0)
			break;
		batch_undo_entry(batch, e);
	}
	return first;
}

/* Files of one directory come in a row. */
static int batch_sync_dirs(struct batch *batch)
{
	const char *synced = "";
	int first = 0;

	for (size_t i = 0; i < batch->n_entries; i++) {
		const struct batch_entry *e = &batch->entries[i];
		int r;

		if (e->state != ENTRY_RENAMED || strcmp(e->dir, synced) == 0)
			continue;
		synced = e->dir;
		r = batch_enter_dir(batch, e->dir, e->owner);
		if (!r && batch->store->ops->sync_dir(batch->fd) < 0)
			r = error_origin(-errno);
		if (r && !first)
			first = r;
	}
	return first;
}

static int batch_index_all(struct batch *batch)
{
	struct index *index = &batch->store->index;
	int r = 0;

	for (size_t i = 0; i < batch->n_entries && !r; i++) {
		const struct batch_entry *e = &batch->entries[i];

		if (e->state != ENTRY_RENAMED)
			continue;
		r = e->replace
			    ? index_add_image(index, e->dir, e->blocks - e->old_blocks, !e->existed)
			    : index_add(index, e->dir, e->name, e->blocks, e->counts);
		if (!r && e->has_share)
			r = index_pay(index, e->dir, e->owner);
	}
	return r;
}

struct batch_outcome batch_commit(struct batch *batch)
{
	struct batch_outcome outcome = {0};
	size_t n_new = 0, n_replaced = 0;
	int r;

	if (!batch->n_entries) {
		outcome.is_final = true;
		return outcome;
	}
	if (batch->is_unsynced && batch->store->ops->sync(batch->store->fd) < 0) {
		outcome.error = error_origin(-errno);
		return outcome;
	}
	outcome.error = batch_rename_all(batch, false, &n_new);
	if (!outcome.error)
		outcome.error = batch_rename_all(batch, true, &n_replaced);
	if (outcome.error && !n_replaced)
		return outcome; /* batch_free() takes everything back */

	outcome.is_final = true;
	batch->committed = true;
	r = batch_sync_dirs(batch);
	if (r && !outcome.error)
		outcome.error = r;
	r = batch_index_all(batch);
	if (r)
		batch->store->is_stale = true;
	if (r && !outcome.error)
		outcome.error = r;
	return outcome;
}

int batch_paths(const struct batch *batch, struct texts *ret)
{
	int r = 0;

	for (size_t i = 0; i < batch->n_entries && !r; i++) {
		const struct batch_entry *e = &batch->entries[i];
		char *path;

		if (e->state != ENTRY_RENAMED)
			continue;
		r = text_print(&path, "%s/%s/%s", batch->store->path, e->dir, e->name)
			    ?: texts_add(ret, path);
	}
	return r;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	closep(&batch->file_fd);
	if (!batch->committed)
		batch_rewind(batch, 0);
	for (size_t i = 0; i < batch->n_entries; i++) {
		free(batch->entries[i].dir);
		free(batch->entries[i].name);
	}
	free(batch->entries);
	closep(&batch->fd);
	free(batch);
}
