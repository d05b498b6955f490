/* SPDX-License-Identifier: MIT */
#include "common/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* The directory of @path, and the name in there. */
static int open_directory_of(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);

	if (n >= (int)sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	*ret_name = slash ? slash + 1 : path;
	return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_shared(const struct stat *dir)
{
	return (dir->st_mode & (S_IWGRP | S_IWOTH)) ||
	       (dir->st_uid != 0 && dir->st_uid != geteuid());
}

static bool own_file_is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && st->st_nlink == 1 && !S_ISLNK(st->st_mode);
}

int own_file_open(const char *path, mode_t mode, bool keep)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	cleanup(closep) int dir_fd = -1, fd = -1;
	const char *name;
	struct stat st;
	bool shared;

	dir_fd = open_directory_of(path, &name);
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
		return -1;
	shared = is_shared(&st);
	errno = EPERM;
	/* Before it is opened as well: a FIFO of somebody else's would not let go of us. */
	if (shared && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !own_file_is_ours(&st))
		return -1;
	fd = openat(dir_fd, name, flags | (shared ? O_NOFOLLOW : 0), mode);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	errno = EPERM;
	if (shared && !own_file_is_ours(&st))
		return -1;
	if (!keep && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
		return -1;
	return steal_fd(&fd);
}
