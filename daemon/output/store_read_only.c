/* SPDX-License-Identifier: MIT */
/* A store that nothing is changed in, whatever calls for it. */
#include <errno.h>

#include "daemon/output/store.h"

static int refuse_make_dir(int dir, const char *name, mode_t mode)
{
	(void)dir, (void)name, (void)mode;
	errno = EROFS;
	return -1;
}

static int refuse_open(int dir, const char *name, int flags, mode_t mode)
{
	(void)flags;
	return refuse_make_dir(dir, name, mode);
}

static ssize_t refuse_write(int fd, const void *data, size_t size)
{
	(void)data, (void)size;
	return refuse_make_dir(fd, NULL, 0);
}

static int refuse_sync(int fd)
{
	return refuse_make_dir(fd, NULL, 0);
}

static int refuse_rename(int dir, const char *from, const char *to, unsigned flags)
{
	(void)to, (void)flags;
	return refuse_make_dir(dir, from, 0);
}

static int refuse_unlink(int dir, const char *name, int flags)
{
	(void)dir, (void)name, (void)flags;
	errno = ENOENT;
	return -1;
}

const struct file_ops file_ops_read_only = {
	.make_dir = refuse_make_dir,
	.open = refuse_open,
	.write = refuse_write,
	.sync = refuse_sync,
	.sync_file = refuse_sync,
	.rename = refuse_rename,
	.sync_dir = refuse_sync,
	.unlink = refuse_unlink,
};
