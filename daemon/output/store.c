/* SPDX-License-Identifier: MIT */
/*
 * Directories are entered one part of a path after the other, without following links, and get
 * their mode and owner when they are made.
 *
 * The state directory may be removed while profd runs, and its parent may or may not let profd make
 * it again. A directory that was removed has no links left (rmdir(2)), and nothing can be made in
 * it. The new one takes the place of the old one under the same fd number, so that every module
 * that borrowed that has it too, and the lock goes with it.
 */
#include "daemon/output/store.h"

#include <acl/libacl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/error.h"
#include "common/read_end.h"
#include "common/units.h"
#include "daemon/output/counts_text.h"
#include "daemon/output/window_events.h"

#define MODE_DIR      0750
#define MODE_SESSIONS 0711 /* owners pass through to their own session and see no other */
#define MODE_SESSION  0700

#define HOURS_SIZE (STORE_HOURS * COUNTS_TEXT_MAX)

static int system_open(int dir, const char *name, int flags, mode_t mode)
{
	return openat(dir, name, flags, mode);
}

static int system_rename(int dir, const char *from, const char *to, unsigned flags)
{
	return renameat2(dir, from, dir, to, flags);
}

const struct file_ops file_ops_system = {
	.make_dir = mkdirat,
	.open = system_open,
	.write = write,
	.sync = syncfs,
	.sync_file = fsync,
	.rename = system_rename,
	.sync_dir = fsync,
	.unlink = unlinkat,
};

static void acl_freep(acl_t *acl)
{
	if (*acl)
		acl_free(*acl);
}

static int store_set_mode(int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_origin(-errno);
	if (fchmod(fd, (st.st_mode & S_ISGID) | mode) < 0)
		return error_origin(-errno);
	return 0;
}

/* acl(5): the directory's own ACL and the default one that its files inherit. */
static int store_set_acl(int fd, uid_t owner)
{
	cleanup(acl_freep) acl_t acl = NULL;
	char text[96], path[32];

	snprintf(text, sizeof(text), "u::rwx,u:%u:r-x,g::---,m::r-x,o::---", (unsigned)owner);
	acl = acl_from_text(text);
	if (!acl)
		return error_origin(-errno);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (acl_set_file(path, ACL_TYPE_DEFAULT, acl) < 0 || acl_set_fd(fd, acl) < 0)
		return -errno;
	return 0;
}

/* Opens a session's new directory to its owner: by ACL, else by giving it away. */
static int store_grant_owner(struct store *store, int fd, uid_t owner)
{
	int r;

	if (owner == STORE_NOBODY || owner == 0 || owner == geteuid())
		return 0;
	r = store_set_acl(fd, owner);
	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return r;
	if (fchown(fd, owner, (gid_t)-1) < 0)
		store->acl_refused = true;
	return 0;
}

/* mkdir and its mode; @ret_fd is the directory, whether it was there or not. */
static int store_make_dir(struct store *store, int parent, const char *name, mode_t mode,
			  bool *ret_made, int *ret_fd)
{
	cleanup(closep) int fd = -1;
	int r;

	*ret_made = store->ops->make_dir(parent, name, mode) == 0;
	if (!*ret_made && errno != EEXIST)
		return error_origin(-errno);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_origin(-errno);
	if (*ret_made) {
		r = store_set_mode(fd, mode);
		if (r)
			return r;
	}
	*ret_fd = steal_fd(&fd);
	return 0;
}

static mode_t store_dir_mode(const char *path)
{
	if (strcmp(path, "sessions") == 0)
		return MODE_SESSIONS;
	if (strncmp(path, "sessions/", 9) == 0)
		return MODE_SESSION;
	return MODE_DIR;
}

int store_open_dir(struct store *store, const char *path, uid_t owner, int *ret, bool *ret_given)
{
	cleanup(closep) int fd = -1;
	char prefix[STORE_PATH_SIZE];
	struct stat st;
	size_t from = 0;
	bool made;
	int r;

	for (;;) {
		size_t length = strcspn(path + from, "/");
		int next = -1;

		if (from + length >= sizeof(prefix) || length == 0)
			return error_origin(-ENAMETOOLONG);
		memcpy(prefix, path, from + length);
		prefix[from + length] = '\0';
		r = store_make_dir(store, fd < 0 ? store->fd : fd, prefix + from,
				   store_dir_mode(prefix), &made, &next);
		if (r)
			return r;
		if (made && !from && store->index.n_files)
			store->is_stale = true;
		closep(&fd);
		fd = next;
		if (path[from + length] == '\0')
			break;
		from += length + 1;
	}
	if (made) {
		r = store_grant_owner(store, fd, owner);
		if (r) {
			store_prune(store, path); /* never leave one that its owner cannot read */
			return error_origin(r);
		}
	}
	*ret_given = owner != STORE_NOBODY && owner != geteuid() && fstat(fd, &st) == 0 &&
		     st.st_uid == owner;
	*ret = steal_fd(&fd);
	return 0;
}

int store_unlink(struct store *store, const char *path, int flags)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const char *slash = strrchr(path, '/');
	char dir[STORE_PATH_SIZE];
	cleanup(closep) int fd = -1;

	if (!slash)
		return store->ops->unlink(store->fd, path, flags);
	if (snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path) >= (int)sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = (int)syscall(SYS_openat2, store->fd, dir, &how, sizeof(how));
	return fd < 0 ? -1 : store->ops->unlink(fd, slash + 1, flags);
}

DIR *store_open_to_read(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

int store_read(int dir, const char *name, size_t max, uint8_t **ret, size_t *ret_length)
{
	cleanup(closep) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_outcome(errno);
	if (!S_ISREG(st.st_mode))
		return EINVAL;
	if ((uint64_t)st.st_size > max)
		return EFBIG;
	return read_end(fd, max, ret, ret_length);
}

/* Removes a directory; what is a directory in it goes first while @depth lasts. */
static int store_remove_dir(struct store *store, int parent, const char *name, unsigned depth)
{
	DIR *dir = store_open_to_read(parent, name);
	struct dirent *e;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : error_origin(-errno);
	while (!r && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (store->ops->unlink(dirfd(dir), e->d_name, 0) == 0 || errno == ENOENT)
			continue;
		r = errno == EISDIR && depth
			    ? store_remove_dir(store, dirfd(dir), e->d_name, depth - 1)
			    : error_origin(-errno);
	}
	closedir(dir);
	if (!r && store->ops->unlink(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = error_origin(-errno);
	return r;
}

int store_remove_tree(struct store *store, const char *path)
{
	return store_remove_dir(store, store->fd, path, 2);
}

void store_prune(struct store *store, const char *path)
{
	char copy[STORE_PATH_SIZE];

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return;
	while (strchr(copy, '/') && store_unlink(store, copy, AT_REMOVEDIR) == 0)
		*strrchr(copy, '/') = '\0';
}

void store_set_number(int fd, const char *attribute, uint64_t number)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, number);

	/* Where there are no such attributes, a listing reads the file instead. */
	(void)fsetxattr(fd, attribute, text, (size_t)n, 0);
}

uint64_t store_get_number(int fd, const char *attribute)
{
	char text[24];
	ssize_t n = fgetxattr(fd, attribute, text, sizeof(text) - 1);
	uint64_t number;

	if (n <= 0 || n > 19)
		return UINT64_MAX;
	text[n] = '\0';
	return units_parse_number(text, &number) == UNITS_E_OK ? number : UINT64_MAX;
}

void store_set_counts(int fd, const char *attribute, const struct index_counts *counts, size_t n)
{
	char text[HOURS_SIZE];
	size_t length = counts_text_print(counts, n, text);

	(void)fsetxattr(fd, attribute, text, length, 0);
}

bool store_get_counts(int fd, const char *attribute, struct index_counts *ret, size_t n)
{
	char text[HOURS_SIZE + 1];
	ssize_t length = fgetxattr(fd, attribute, text, HOURS_SIZE);

	if (length <= 0)
		return false;
	text[length] = '\0';
	return counts_text_parse(text, ret, n);
}

void store_set_events(int fd, const char *events)
{
	(void)fsetxattr(fd, STORE_EVENTS_ATTRIBUTE, events, strlen(events), 0);
}

char *store_get_events(int fd)
{
	char text[WINDOW_EVENTS_MAX + 1];
	ssize_t length = fgetxattr(fd, STORE_EVENTS_ATTRIBUTE, text, WINDOW_EVENTS_MAX);

	return length > 0 ? strndup(text, (size_t)length) : NULL;
}

static int store_make_dirs(struct store *store)
{
	static const char *const dirs[] = {"services", "sessions", "images"};
	bool given;

	if (store->ops == &file_ops_read_only)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		cleanup(closep) int dir = -1;
		int r = store_open_dir(store, dirs[i], STORE_NOBODY, &dir, &given);

		if (r)
			return r;
	}
	return 0;
}

int store_rescan(struct store *store)
{
	int r;

	index_deinit(&store->index);
	store->n_scans++;
	store->is_stale = false;
	r = store_make_dirs(store) ?: store_scan(store);
	store->is_stale = r != 0;
	return r;
}

bool store_is_safe(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int store_open_anew(const struct store *store, const struct stat *old, int *ret)
{
	cleanup(closep) int fd = -1;
	bool made = mkdir(store->path, 0751) == 0;
	struct stat st;

	fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!store_is_safe(&st))
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno; /* another profd's by now */
	if (made && fchown(fd, (uid_t)-1, old->st_gid) == 0)
		fchmod(fd, old->st_mode & 07777);
	*ret = steal_fd(&fd);
	return 0;
}

int store_revive(struct store *store, bool *ret_revived)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	int r;

	*ret_revived = false;
	if (fstat(store->fd, &st) < 0)
		return error_origin(-errno);
	if (st.st_nlink > 0)
		return 0;
	r = store_open_anew(store, &st, &fd);
	if (r)
		return r;
	if (dup3(fd, store->fd, O_CLOEXEC) < 0)
		return error_origin(-errno);
	*ret_revived = true;
	return store_rescan(store);
}

int store_new(struct store **ret, int fd, const char *path, const struct file_ops *ops)
{
	cleanup(store_freep) struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return error_origin(-ENOMEM);
	store->fd = fd;
	store->ops = ops;
	store->path = strdup(path);
	if (!store->path)
		return error_origin(-ENOMEM);
	r = store_make_dirs(store);
	if (r)
		return r;
	*ret = steal_ptr(&store);
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	index_deinit(&store->index);
	free(store->path);
	free(store);
}
