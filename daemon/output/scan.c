/* SPDX-License-Identifier: MIT */
/*
 * Every level of the tree is one call of scan_dir() with a visitor for its entries; a visitor
 * of a directory descends by calling it again. A temporary file is removed wherever it lies; a
 * directory that is then empty goes too.
 */
#include "daemon/output/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"

struct scan {
	struct store *store;
	const char *path; /* of the directory that is read, below the store */
	struct index_shelf *shelf;
	struct index_epoch *epoch;
};

typedef int (*scan_visitor)(struct scan *scan, int dir, const char *name);

static int scan_dir(struct scan *scan, int parent, const char *name, scan_visitor visit)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	DIR *dir;
	int r = 0;

	if (fd < 0) /* a file, a link, or none of our business */
		return 0;
	dir = store_dir_of(fd);
	if (!dir)
		return error_origin(-ENOMEM);
	while (!r && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (strncmp(e->d_name, NAMES_TEMPORARY, strlen(NAMES_TEMPORARY)) == 0) {
			if (scan->store->ops->unlink(dirfd(dir), e->d_name, 0) == 0)
				scan->store->n_cleaned++;
			continue;
		}
		r = visit(scan, dirfd(dir), e->d_name);
	}
	closedir(dir);
	return r;
}

/* Descends into @name and removes it if nothing is left in it. */
static int scan_below(struct scan *scan, int dir, const char *name, scan_visitor visit)
{
	char path[STORE_PATH_SIZE];
	struct scan below = *scan;
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", scan->path, name) >= (int)sizeof(path))
		return 0;
	below.path = path;
	r = scan_dir(&below, dir, name, visit);
	if (!r)
		(void)scan->store->ops->unlink(dir, name, AT_REMOVEDIR);
	return r;
}

static int visit_window(struct scan *scan, int dir, const char *name)
{
	char expected[STORE_PATH_SIZE];
	struct names_window window;
	struct stat st;

	/* One that lies in another day's directory would be looked for in its own. */
	if (!names_parse_window(name, &window) ||
	    !index_dir_path(scan->shelf, window.start_s, expected, sizeof(expected)) ||
	    strcmp(expected, scan->path) != 0)
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	/* Directories tell their files in no order. */
	return index_append(&scan->store->index, scan->shelf, &window, (uint64_t)st.st_blocks,
			    INDEX_SAMPLES_UNKNOWN);
}

static int visit_day(struct scan *scan, int dir, const char *name)
{
	return names_parse_day(name) ? scan_below(scan, dir, name, visit_window) : 0;
}

/* A service or a session: @visit is what its directory holds. */
static int scan_shelf(struct scan *scan, int dir, const char *name, scan_visitor visit)
{
	char path[STORE_PATH_SIZE], text[NAME_MAX + 1];
	int r;

	if (!names_unescape(name, text, sizeof(text)) ||
	    snprintf(path, sizeof(path), "%s/%s", scan->path, name) >= (int)sizeof(path))
		return 0;
	r = index_shelf(&scan->store->index, path, &scan->shelf);
	if (r)
		return r;
	r = scan_below(scan, dir, name, visit);
	index_sort(scan->shelf);
	index_drop_shelf(&scan->store->index, scan->shelf);
	return r;
}

static int visit_service(struct scan *scan, int dir, const char *name)
{
	return scan_shelf(scan, dir, name, visit_day);
}

static int visit_session(struct scan *scan, int dir, const char *name)
{
	return scan_shelf(scan, dir, name, visit_window);
}

static int visit_image(struct scan *scan, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	index_epoch_changed(&scan->store->index, scan->epoch, (uint64_t)st.st_blocks, 1);
	return 0;
}

static int visit_host(struct scan *scan, int dir, const char *name)
{
	return scan_below(scan, dir, name, visit_image);
}

static int visit_epoch(struct scan *scan, int dir, const char *name)
{
	struct index *index = &scan->store->index;
	uint64_t begin_s;
	int r;

	if (!names_parse_epoch(name, &begin_s))
		return 0;
	r = index_epoch(index, name, begin_s, &scan->epoch);
	if (r)
		return r;
	r = scan_below(scan, dir, name, visit_host);
	if (!r && !scan->epoch->n_files)
		index_drop_epoch(index, (size_t)(scan->epoch - index->epochs));
	return r;
}

int store_scan(struct store *store)
{
	static const struct {
		const char *dir;
		scan_visitor visit;
	} parts[] = {
		{"services", visit_service},
		{"sessions", visit_session},
		{"images", visit_epoch},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && !r; i++) {
		struct scan scan = {.store = store, .path = parts[i].dir};

		r = scan_dir(&scan, store->fd, parts[i].dir, parts[i].visit);
	}
	return r;
}
