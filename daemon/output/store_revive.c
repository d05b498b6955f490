/* SPDX-License-Identifier: MIT */
/*
 * The state directory may be removed while profd runs, and its parent may or may not let profd make
 * it again. A directory that was removed has no links left (rmdir(2)), and nothing can be made in
 * it. The new one takes the place of the old one under the same fd number, so that whoever borrowed
 * that has it too, and the lock goes with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/output/scan.h"
#include "daemon/output/store.h"

static int open_anew(const struct store *store, const struct stat *old, int *ret)
{
	cleanup(closep) int fd = -1;
	bool made = mkdir(store->path, 0751) == 0;

	fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno; /* another profd's by now */
	if (made && fchown(fd, (uid_t)-1, old->st_gid) == 0)
		fchmod(fd, old->st_mode & 07777);
	*ret = steal_fd(&fd);
	return 0;
}

int store_rescan(struct store *store)
{
	int r;

	index_deinit(&store->index);
	store->n_scans++;
	store->is_stale = false;
	r = store_make_dirs(store);
	if (!r)
		r = scan_store(store);
	store->is_stale = r != 0;
	return r;
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
	r = open_anew(store, &st, &fd);
	if (r)
		return r;
	if (dup3(fd, store->fd, O_CLOEXEC) < 0)
		return error_origin(-errno);
	*ret_revived = true;
	return store_rescan(store);
}
