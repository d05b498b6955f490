/* SPDX-License-Identifier: MIT */
#include "daemon/output/file_ops.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int system_open(int folder, const char *name, int flags, mode_t mode)
{
	return openat(folder, name, flags, mode);
}

static int system_rename(int folder, const char *from, const char *to, unsigned flags)
{
	return renameat2(folder, from, folder, to, flags);
}

const struct file_ops file_ops_system = {
	.make_folder = mkdirat,
	.open = system_open,
	.write = write,
	.sync = syncfs,
	.sync_file = fsync,
	.rename = system_rename,
	.sync_folder = fsync,
	.unlink = unlinkat,
};
