/* SPDX-License-Identifier: MIT */
/*
 * Where nothing is mounted that could let us wait, paths lead wherever they lead. Otherwise each is
 * walked within one file system alone, that of "/" or of the mount point above it by name, so that
 * no symbolic link leads onto one of those either.
 *
 * Lines of mountinfo become points with two flags, in their order. A path is compared with all of
 * them: the longest point above it is where it lies.
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
#include "common/room.h"
#include "common/symbols/elf_summary.h"
#include "common/worker/debug_files.h"

#define KERNEL_FILE_MAX ((size_t)256 << 20)

/* --- mounts ----------------------------------------------------------------------------------- */

struct mount {
	char *point;
	bool is_fuse, is_autofs;
};

struct mount_list {
	struct mount *mounts; /* as in the text: of several at one point, the last is on top */
	size_t n, n_allocated;
};

void mount_list_free(struct mount_list *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->mounts[i].point);
	free(m->mounts);
	free(m);
}

/* Blank, tab, newline and backslash are written in octal: \040. */
static char *mount_unescape_point(const char *text, size_t length)
{
	char *point = malloc(length + 1);
	size_t n = 0;

	if (!point)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\\' && length - i > 3 && strspn(text + i + 1, "01234567") >= 3) {
			point[n++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					    (text[i + 3] - '0'));
			i += 3;
		} else {
			point[n++] = text[i];
		}
	}
	point[n] = '\0';
	return point;
}

static int mount_list_add(struct mount_list *m, const struct mounts_mount *found)
{
	struct mount *mount;

	if (found->point_length >= PATH_MAX)
		return 0;
	if (room_make(&m->mounts, &m->n_allocated, m->n + 1, sizeof(*m->mounts)))
		return -ENOMEM;
	mount = &m->mounts[m->n];
	*mount = (struct mount){
		.point = mount_unescape_point(found->point, found->point_length),
		.is_fuse = found->is_fuse,
		.is_autofs = found->is_autofs,
	};
	if (!mount->point)
		return error_origin(-ENOMEM);
	m->n++;
	return 0;
}

int mount_list_new(struct mount_list **ret, const char *text, size_t length)
{
	cleanup(mount_list_freep) struct mount_list *m = calloc(1, sizeof(*m));
	const char *end = text + length;
	struct mounts_mount found;
	bool good;
	int r = 0;

	if (!m)
		return error_origin(-ENOMEM);
	while (!r && mounts_next(&text, end, &found, &good))
		if (good)
			r = mount_list_add(m, &found);
	if (r)
		return r;
	*ret = steal_ptr(&m);
	return 0;
}

static bool is_root_mount(const struct mount *mount)
{
	return strcmp(mount->point, "/") == 0;
}

bool mount_list_has_slow(const struct mount_list *m)
{
	for (size_t i = 0; i < m->n; i++)
		if ((m->mounts[i].is_fuse || m->mounts[i].is_autofs) &&
		    !is_root_mount(&m->mounts[i]))
			return true;
	return false;
}

static bool is_above(const char *point, const char *path)
{
	size_t length = strlen(point);

	return strncmp(point, path, length) == 0 && (path[length] == '/' || !path[length]);
}

/*
 * What is mounted on top of a slow one, at the same point, hides it. Below a FUSE mount everything
 * is behind it; what autofs has mounted is reached without asking for it.
 */
const char *mount_list_find(const struct mount_list *m, const char *path, bool *ret_slow)
{
	const struct mount *found = NULL, *fuse = NULL;
	size_t length = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mount *mount = &m->mounts[i];

		if (is_root_mount(mount) || !is_above(mount->point, path))
			continue;
		if (mount->is_fuse)
			fuse = mount;
		else if (fuse && strcmp(fuse->point, mount->point) == 0)
			fuse = NULL;
		if (strlen(mount->point) < length)
			continue;
		length = strlen(mount->point);
		found = mount;
	}
	*ret_slow = fuse || (found && found->is_autofs);
	return found ? found->point : "/";
}

/* --- files ------------------------------------------------------------------------------------ */

struct files {
	int root_fd;
	struct mount_list *mounts; /* NULL: nothing to be careful of */
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
	cleanup(freep) char *text = NULL;
	size_t length = 0;
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->root_fd = root_fd;
	r = files_read_kernel(f, "/proc/self/mountinfo", &text, &length);
	if (r == -ENOMEM)
		return r;
	/* Unknown mounts: none is crossed. */
	r = mount_list_new(&f->mounts, text ? text : "", length);
	if (r)
		return r;
	if (length && !mount_list_has_slow(f->mounts)) {
		mount_list_free(f->mounts);
		f->mounts = NULL;
	}
	*ret = steal_ptr(&f);
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	mount_list_free(f->mounts);
	free(f);
}

static int files_open_in_mount(const struct files *f, const char *path, const char **ret_why)
{
	cleanup(closep) int point_fd = -1;
	const char *point;
	bool is_slow;

	if (!f->mounts)
		return debug_files_open(f->root_fd, true, path);
	point = mount_list_find(f->mounts, path, &is_slow);
	if (is_slow) {
		*ret_why = "on a file system that may let us wait";
		return -1;
	}
	if (strcmp(point, "/") == 0)
		return debug_files_open(f->root_fd, false, path);
	point_fd = openat(f->root_fd, below_root(point), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (point_fd < 0)
		return -1;
	return debug_files_open(point_fd, false, below_root(path + strlen(point)));
}

static const char *files_describe_error(int error)
{
	switch (error) {
	case 0:
		return "not a regular file";
	case ENOENT:
	case ENOTDIR:
		return "no such file here";
	case EACCES:
	case EPERM:
		return "may not be read";
	case EXDEV:
		return "beyond another file system";
	default:
		return "cannot be opened";
	}
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
	char path[sizeof(FILES_FETCHED_DIR "/.build-id//.debug") + 2 * ELF_BUILD_ID_MAX];
	const char *ignored;
	int at;

	if (length < 2 || length > ELF_BUILD_ID_MAX)
		return -1;
	at = snprintf(path, sizeof(path), FILES_FETCHED_DIR "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < length; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	return files_open(f, path, &ignored);
}
