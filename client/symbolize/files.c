/* SPDX-License-Identifier: MIT */
/*
 * Where nothing is mounted that could let us wait, paths lead wherever they lead. Otherwise each is
 * walked within one file system alone, that of "/" or of the mount point above it by name, so that
 * no symbolic link leads onto one of those either.
 *
 * A path is compared with all lines of mountinfo, in their order: the longest point above it is
 * where it lies.
 */
#include "client/symbolize/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/mounts.h"
#include "common/read_end.h"
#include "common/symbols/elf_summary.h"
#include "common/worker/debug_files.h"

#define KERNEL_FILE_MAX ((size_t)256 << 20)

/* --- mounts ----------------------------------------------------------------------------------- */

bool files_has_slow_mount(const char *text, size_t length)
{
	const char *end = text + length;
	struct mounts_mount m;
	bool good;

	while (mounts_next(&text, end, &m, &good))
		if (good && (m.is_fuse || m.is_autofs) && m.point_length > 1)
			return true;
	return false;
}

/*
 * What is mounted on top of a slow one, at the same point, hides it. Below a FUSE mount everything
 * is behind it; what autofs has mounted is reached without asking for it.
 */
size_t files_mount_of(const char *text, size_t length, const char *path, bool *ret_slow)
{
	const char *end = length ? text + length : text;
	size_t found = 0, fuse = 0;
	struct mounts_mount m;
	bool good, is_autofs = false;

	while (mounts_next(&text, end, &m, &good)) {
		size_t n = good ? mounts_covers(&m, path) : 0;

		if (n <= 1) /* "/" itself */
			continue;
		if (m.is_fuse)
			fuse = n;
		else if (fuse == n)
			fuse = 0;
		if (n < found)
			continue;
		found = n;
		is_autofs = m.is_autofs;
	}
	*ret_slow = fuse || is_autofs;
	return found;
}

/* --- files ------------------------------------------------------------------------------------ */

struct files {
	int root_fd;
	char *mounts; /* mountinfo */
	size_t n_mounts;
	bool is_careful;
};

/* Relative to the root: "." for the root itself. */
static const char *below_root(const char *path)
{
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

int files_read_kernel(const struct files *f, const char *path, char **ret, size_t *ret_length)
{
	return read_end_text(f->root_fd, below_root(path), KERNEL_FILE_MAX, ret, ret_length);
}

int files_new(struct files **ret, int root_fd)
{
	cleanup(files_freep) struct files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->root_fd = root_fd;
	r = files_read_kernel(f, "/proc/self/mountinfo", &f->mounts, &f->n_mounts);
	if (r < 0)
		return r;
	/* Unknown mounts: none is crossed. */
	f->is_careful = r || !f->n_mounts || files_has_slow_mount(f->mounts, f->n_mounts);
	*ret = steal_ptr(&f);
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	free(f->mounts);
	free(f);
}

static int files_open_in_mount(const struct files *f, const char *path, const char **ret_why)
{
	cleanup(closep) int point_fd = -1;
	char point[PATH_MAX];
	bool is_slow;
	size_t n;

	if (!f->is_careful)
		return debug_files_open(f->root_fd, true, path);
	n = files_mount_of(f->mounts, f->n_mounts, path, &is_slow);
	if (is_slow) {
		*ret_why = "on a file system that may let us wait";
		return -1;
	}
	if (!n)
		return debug_files_open(f->root_fd, false, path);
	snprintf(point, sizeof(point), "%.*s", (int)n, path);
	point_fd = openat(f->root_fd, below_root(point), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (point_fd < 0)
		return -1;
	return debug_files_open(point_fd, false, below_root(path + n));
}

static const char *files_describe_error(int error)
{
	return !error                                ? "not a regular file"
	       : error == ENOENT || error == ENOTDIR ? "no such file here"
	       : error == EXDEV                      ? "beyond another file system"
						     : strerrordesc_np(error);
}

int files_open(const struct files *f, const char *path, const char **ret_why)
{
	int fd = -1;

	*ret_why = NULL;
	errno = 0;
	if (path[0] == '/' && strlen(path) < PATH_MAX)
		fd = files_open_in_mount(f, path, ret_why);
	if (fd < 0 && !*ret_why)
		*ret_why = files_describe_error(errno);
	return fd;
}

int files_open_fetched(const struct files *f, const uint8_t *id, size_t length)
{
	char path[PATH_MAX];
	const char *ignored;

	return debug_files_id_path(FILES_FETCHED_DIR, id, length, path)
		       ? files_open(f, path, &ignored)
		       : -1;
}
