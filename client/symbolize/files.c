/* SPDX-License-Identifier: MIT */
/*
 * Where nothing is mounted that could let us wait, paths lead wherever they lead. Otherwise each is
 * walked within one file system alone, that of "/" or of the mount point above it by name, so that
 * no symbolic link leads onto one of those either.
 */
#include "client/symbolize/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/symbolize/mount_list.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/symbols/elf_summary.h"
#include "common/worker/debug_files.h"

#define KERNEL_FILE_MAX ((size_t)256 << 20)

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
	char path[sizeof(FILES_FETCHED_FOLDER "/.build-id//.debug") + 2 * ELF_BUILD_ID_MAX];
	const char *ignored;
	int at;

	if (length < 2 || length > ELF_BUILD_ID_MAX)
		return -1;
	at = snprintf(path, sizeof(path), FILES_FETCHED_FOLDER "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < length; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	return files_open(f, path, &ignored);
}
