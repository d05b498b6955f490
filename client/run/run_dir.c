/* SPDX-License-Identifier: MIT */
/*
 * A lock on the directory shows that its maker is alive. Making another one removes the
 * directories beside it whose lock is free.
 */
#include "client/run/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"

#define PREFIX    "profd-run-"
#define TRIES_MAX 4
#define YOUNG_S   10 /* its maker may not hold the lock yet */

/* As mkdtemp(3) makes them. */
static bool is_run_dir_name(const char *name)
{
#define ANY "[A-Za-z0-9]"
	return fnmatch(PREFIX ANY ANY ANY ANY ANY ANY, name, 0) == 0;
#undef ANY
}

/* Removes @name if it is a directory of ours that nobody holds. What else lies in it keeps it
 * there.
 */
static void remove_stale_dir(int dir_fd, const char *name)
{
	cleanup(closep) int fd = openat(dir_fd, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700 ||
	    st.st_mtime > time(NULL) - YOUNG_S || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	unlinkat(fd, RUN_DIR_SOCKET, 0);
	unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static void remove_stale_dirs(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_run_dir_name(entry->d_name))
			remove_stale_dir(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

/*
 * Opens and locks what was made. 1: another one was faster with the lock, and has removed it, as a
 * clock that is set can make happen. Where there are no locks, nobody else gets one either, and
 * nothing is removed.
 */
static int run_dir_lock(struct run_dir *f)
{
	struct stat st;

	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return errno == ENOENT ? 1 : -errno;
	(void)flock(f->fd, LOCK_EX);
	if (stat(f->path, &st) == 0)
		return 0;
	close(steal_fd(&f->fd));
	return 1;
}

bool run_dir_make(struct run_dir *ret, const char *dir)
{
	int r = 1;

	*ret = (struct run_dir){.fd = -1};
	remove_stale_dirs(dir);
	for (unsigned i = 0; i < TRIES_MAX && r > 0; i++) {
		if (snprintf(ret->path, sizeof(ret->path), "%s/" PREFIX "XXXXXX", dir) >=
		    (int)sizeof(ret->path))
			r = -ENAMETOOLONG;
		else
			r = mkdtemp(ret->path) ? run_dir_lock(ret) : -errno;
	}
	if (!r)
		return true;
	ret->path[0] = '\0';
	errno = r < 0 ? -r : EAGAIN;
	return false;
}

void run_dir_remove(struct run_dir *f)
{
	char path[sizeof(f->path) + sizeof("/" RUN_DIR_SOCKET)];

	if (!*f->path)
		return;
	snprintf(path, sizeof(path), "%s/" RUN_DIR_SOCKET, f->path);
	unlink(path);
	rmdir(f->path);
	close(steal_fd(&f->fd));
	f->path[0] = '\0';
}
