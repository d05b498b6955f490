/* SPDX-License-Identifier: MIT */
/*
 * Files are known by their names alone: nothing is kept in memory but three fds. Room is made by
 * looking at all of them, which is cheap beside fetching one, and removing those used longest ago.
 * A file gets its name by linkat(2) when it is whole.
 */
#include "client/gateway/debug_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "common/text_print.h"

#define FETCH_PREFIX  ".fetch-"
#define SUFFIX        ".debug"
#define HEXADECIMAL   "0123456789abcdef"
#define NAME_SIZE     (sizeof("ab/" SUFFIX) + 2 * DEBUG_CACHE_ID_MAX)
#define FILE_NAME_MAX ((int)(sizeof(SUFFIX) - 1 + 2 * (DEBUG_CACHE_ID_MAX - 1)))

struct debug_cache {
	char *directory;
	int lock, files; /* fds */
	uint64_t max_bytes;
};

/* Makes a directory if there is none, and opens it. Returns the fd or -1. */
static int debug_cache_open_dir(int at, const char *name)
{
	bool is_new = mkdirat(at, name, 0755) == 0;
	int fd;

	if (!is_new && errno != EEXIST)
		return -1;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Whatever our umask is. */
	if (fd >= 0 && is_new)
		(void)!fchmod(fd, 0755);
	return fd;
}

static int debug_cache_open_files(struct debug_cache *c)
{
	cleanup(closep) int top = -1, middle = -1;

	top = open(c->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return DEBUG_CACHE_E_UNUSABLE;
	c->lock = openat(top, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->lock < 0)
		return DEBUG_CACHE_E_UNUSABLE;
	if (flock(c->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? DEBUG_CACHE_E_IN_USE : error_origin(-errno);
	middle = debug_cache_open_dir(top, "debuginfo");
	if (middle >= 0)
		c->files = debug_cache_open_dir(middle, ".build-id");
	return c->files < 0 ? DEBUG_CACHE_E_UNUSABLE : DEBUG_CACHE_E_OK;
}

/* --- what lies there -------------------------------------------------------------------------- */

/* A walk that follows no link but the one that @root may be; NULL: no memory. */
static FTS *debug_cache_walk(char *root)
{
	char *const roots[] = {root, NULL};

	return fts_open(roots, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
}

static void fts_closep(FTS **tree)
{
	if (*tree)
		fts_close(*tree);
}

struct debug_cache_entry {
	char name[NAME_SIZE]; /* below .build-id */
	uint64_t bytes;
	uint64_t used_ns; /* stored or read; Unix time */
};

struct debug_cache_entries {
	struct debug_cache_entry *all;
	size_t n, size;
	uint64_t bytes;
};

/* Names of two levels, as they are made here: ab/cdef0123.debug. */
static bool is_debug_file(const FTSENT *entry)
{
	const FTSENT *dir = entry->fts_parent;
	size_t length = entry->fts_namelen, suffix = strlen(SUFFIX);

	return entry->fts_level == 2 && entry->fts_info == FTS_F && dir->fts_namelen == 2 &&
	       strspn(dir->fts_name, HEXADECIMAL) == 2 && length > suffix &&
	       length <= FILE_NAME_MAX && strcmp(entry->fts_name + length - suffix, SUFFIX) == 0 &&
	       strspn(entry->fts_name, HEXADECIMAL) == length - suffix;
}

static int debug_cache_add_entry(struct debug_cache_entries *e, const FTSENT *file)
{
	const struct stat *st = file->fts_statp;
	struct debug_cache_entry *entry;

	if (room_make(&e->all, &e->size, e->n + 1, sizeof(*e->all)))
		return -ENOMEM;
	entry = &e->all[e->n++];
	snprintf(entry->name, sizeof(entry->name), "%.2s/%.*s", file->fts_parent->fts_name,
		 FILE_NAME_MAX, file->fts_name);
	entry->bytes = (uint64_t)st->st_blocks * 512;
	/* relatime(mount(8)) sets the time of reading once a day, which is often enough. */
	entry->used_ns = timespec_ns(st->st_atim);
	if (entry->used_ns < timespec_ns(st->st_mtim))
		entry->used_ns = timespec_ns(st->st_mtim);
	e->bytes += entry->bytes;
	return 0;
}

static int debug_cache_scan(const struct debug_cache *c, struct debug_cache_entries *ret)
{
	cleanup(fts_closep) FTS *tree = NULL;
	char root[32];
	FTSENT *entry;
	int r = 0;

	snprintf(root, sizeof(root), "/proc/self/fd/%d", c->files);
	tree = debug_cache_walk(root);
	while (!r && tree && (entry = fts_read(tree))) {
		if (is_debug_file(entry))
			r = debug_cache_add_entry(ret, entry);
		else if (entry->fts_level == 2)
			fts_set(tree, entry, FTS_SKIP);
	}
	return r;
}

DEFINE_ORDER(debug_cache_compare_use, struct debug_cache_entry,
	     order_of(x->used_ns, y->used_ns) ?: strcmp(x->name, y->name))

/* Removes files until @bytes more may be there. */
static int debug_cache_make_room(struct debug_cache *c, uint64_t bytes)
{
	struct debug_cache_entries e = {0};
	int r = debug_cache_scan(c, &e);

	if (!r && e.n)
		qsort(e.all, e.n, sizeof(*e.all), debug_cache_compare_use);
	for (size_t i = 0; !r && i < e.n && e.bytes + bytes > c->max_bytes; i++) {
		char dir[3] = {e.all[i].name[0], e.all[i].name[1]};

		if (unlinkat(c->files, e.all[i].name, 0) < 0 && errno != ENOENT)
			continue;
		e.bytes -= e.all[i].bytes;
		(void)!unlinkat(c->files, dir, AT_REMOVEDIR); /* if it was the last one */
	}
	free(e.all);
	return r;
}

/* --- the interface ---------------------------------------------------------------------------- */

int debug_cache_open(struct debug_cache **ret, const char *directory, uint64_t max_bytes)
{
	cleanup(debug_cache_closep) struct debug_cache *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_origin(-ENOMEM);
	c->lock = c->files = -1;
	c->max_bytes = max_bytes;
	r = text_copy(&c->directory, directory) ?: debug_cache_open_files(c);
	if (r)
		return r;
	debug_cache_sweep(c);
	r = debug_cache_make_room(c, 0);
	if (!r)
		*ret = steal_ptr(&c);
	return r;
}

void debug_cache_close(struct debug_cache *c)
{
	if (!c)
		return;
	closep(&c->lock);
	closep(&c->files);
	free(c->directory);
	free(c);
}

static bool debug_cache_make_name(char ret[NAME_SIZE], const uint8_t *id, size_t length)
{
	char *at = ret;

	if (length < DEBUG_CACHE_ID_MIN || length > DEBUG_CACHE_ID_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		at += snprintf(at, 4, i ? "%02x" : "%02x/", id[i]);
	memcpy(at, SUFFIX, sizeof(SUFFIX));
	return true;
}

bool debug_cache_has(const struct debug_cache *c, const uint8_t *id, size_t length)
{
	char name[NAME_SIZE];

	return debug_cache_make_name(name, id, length) && faccessat(c->files, name, F_OK, 0) == 0;
}

int debug_cache_store(struct debug_cache *c, const uint8_t *id, size_t length, int fd)
{
	char name[NAME_SIZE], source[32], dir_name[3] = "";
	cleanup(closep) int dir = -1;
	struct stat st;
	int r;

	/* What servers say of its age means nothing here; and it may be read by all. */
	if (!debug_cache_make_name(name, id, length) || futimens(fd, NULL) < 0 ||
	    fchmod(fd, 0644) < 0 || fstat(fd, &st) < 0)
		return DEBUG_CACHE_E_UNUSABLE;
	r = debug_cache_make_room(c, (uint64_t)st.st_blocks * 512);
	if (r)
		return r;
	memcpy(dir_name, name, 2);
	dir = debug_cache_open_dir(c->files, dir_name);
	if (dir < 0)
		return DEBUG_CACHE_E_UNUSABLE;
	/* proc(5), /proc/PID/fd: linkat(2) by the fd itself takes a capability. */
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, source, dir, name + 3, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST)
		return DEBUG_CACHE_E_UNUSABLE;
	if (fsync(dir) < 0 || fsync(c->files) < 0)
		return DEBUG_CACHE_E_UNUSABLE;
	return DEBUG_CACHE_E_OK;
}

void debug_cache_sweep(struct debug_cache *c)
{
	cleanup(fts_closep) FTS *tree = debug_cache_walk(c->directory);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_level == 1 &&
		    strncmp(entry->fts_name, FETCH_PREFIX, strlen(FETCH_PREFIX)) != 0)
			fts_set(tree, entry, FTS_SKIP);
		else if (entry->fts_level > 0 && entry->fts_info != FTS_D)
			(void)!remove(entry->fts_path);
	}
}
