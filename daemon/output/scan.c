/* SPDX-License-Identifier: MIT */
/*
 * Which directories there are is a table: below each part of the store, what those of each level
 * are called. Others are left alone, as are files that lie elsewhere than on the last level. A
 * temporary file is removed wherever it lies; a directory that is then empty goes too.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/output/store.h"

typedef bool scan_level(const char *name);

static bool scan_is_escaped(const char *name)
{
	char text[NAME_MAX + 1];

	return names_unescape(name, text, sizeof(text));
}

static bool scan_is_epoch(const char *name)
{
	uint64_t ignored;

	return names_parse_epoch(name, &ignored);
}

static const struct scan_part {
	const char *dir;
	scan_level *levels[3]; /* NULL: here are the files */
} scan_parts[] = {
	{"services", {scan_is_escaped, names_parse_day}},
	{"sessions", {scan_is_escaped}},
	{"images", {scan_is_epoch, scan_is_escaped}},
};

static int scan_file(struct store *store, int dir_fd, const char *dir, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return strncmp(dir, "images/", strlen("images/")) == 0
		       ? index_add_image(&store->index, dir, (uint64_t)st.st_blocks, 1)
		       : index_append(&store->index, dir, name, (uint64_t)st.st_blocks,
				      (struct index_counts){.samples = INDEX_SAMPLES_UNKNOWN},
				      NULL);
}

/* A directory that was given to its owner could say anything. */
static int scan_payer(struct store *store, int fd, const char *path)
{
	uint64_t payer = store_get_number(fd, STORE_PAYER_ATTRIBUTE);
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_uid != 0 && st.st_uid != geteuid())
		payer = st.st_uid;
	return payer < STORE_NOBODY ? index_pay(&store->index, path, (uid_t)payer) : 0;
}

/* @path: of the directory, which lies in @parent, below the store. */
static int scan_dir(struct store *store, int parent, const char *path, scan_level *const *level)
{
	const char *slash = strrchr(path, '/');
	DIR *dir = store_open_to_read(parent, slash ? slash + 1 : path);
	char below[STORE_PATH_SIZE];
	struct dirent *e;
	int r = 0;

	if (!dir) /* a file, a link, or none of our business */
		return errno == ENOMEM ? error_origin(-ENOMEM) : 0;
	while (!r && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (strncmp(e->d_name, NAMES_TEMPORARY, strlen(NAMES_TEMPORARY)) == 0) {
			store->n_cleaned += store->ops->unlink(dirfd(dir), e->d_name, 0) == 0;
			continue;
		}
		if (!*level)
			r = scan_file(store, dirfd(dir), path, e->d_name);
		if (!*level || !(*level)(e->d_name) ||
		    snprintf(below, sizeof(below), "%s/%s", path, e->d_name) >= (int)sizeof(below))
			continue;
		r = scan_dir(store, dirfd(dir), below, level + 1);
		if (!r)
			(void)store->ops->unlink(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (!r && strncmp(path, "sessions/", strlen("sessions/")) == 0)
		r = scan_payer(store, dirfd(dir), path);
	closedir(dir);
	return r;
}

int store_scan(struct store *store)
{
	struct index_shelf *shelf, *next;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(scan_parts) && !r; i++)
		r = scan_dir(store, store->fd, scan_parts[i].dir, scan_parts[i].levels);
	/* Directories tell their files in no order. */
	HASH_ITER (hh, store->index.shelves, shelf, next) {
		index_sort(shelf);
		index_drop_shelf(&store->index, shelf);
	}
	return r;
}
