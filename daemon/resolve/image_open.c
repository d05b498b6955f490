/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/image_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mounts.h"
#include "common/worker/debug_files.h"

/* Of memfds and the like, which are mounted nowhere; 0: unknown. */
static dev_t device_of_shared_memory(void)
{
	static dev_t device;
	struct stat st;

	if (!device) {
		cleanup(closep) int fd = memfd_create("profd", MFD_CLOEXEC);

		if (fd >= 0 && fstat(fd, &st) == 0)
			device = st.st_dev;
	}
	return device;
}

/* proc_pid_map_files(5): names are the mapping's bounds, in hexadecimal without leading zeros. */
static int image_name_by_map_file(int proc_fd, const struct image_key *key)
{
	char name[96];

	snprintf(name, sizeof(name), "%d/map_files/%" PRIx64 "-%" PRIx64, key->pid, key->start,
		 key->end);
	return openat(proc_fd, name, O_PATH | O_CLOEXEC);
}

/*
 * Below the process's root; a process that is gone most likely saw the same files as we do.
 * *ret_avoided: not without asking a file system that may be FUSE.
 */
static int image_name_by_path(int proc_fd, struct mount_roots *roots, const struct image_key *key,
			      bool *ret_avoided)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	pid_t pid = key->pid;

	if (mount_roots_get(roots, pid, &root) != MOUNT_ROOT_E_OK) {
		pid = 0;
		if (mount_roots_get(roots, pid, &root) != MOUNT_ROOT_E_OK)
			return -1;
	}
	return mount_root_open_path(proc_fd, pid, root->fd, key->path, 0, ret_avoided);
}

/*
 * By the mount that the file was found through, which cannot go away as long as it is open: among
 * ours, else among those of the process. One in neither is taken for FUSE: mounts that were
 * detached, that the process's root does not reach, or that come behind very many others are not
 * found, and all that can be arranged. Devices differ from what stat(2) says on btrfs, where mounts
 * tell the right one, and on overlays.
 */
static int image_check_mount(int proc_fd, const struct image_key *key, const struct statx *stx,
			     bool *ret_is_local)
{
	struct mounts_mount mount;

	if (!(stx->stx_mask & STATX_MNT_ID))
		return IMAGE_OPEN_E_NONE;
	if (!mount_root_find_mount(proc_fd, key->pid, stx->stx_mnt_id, &mount) || mount.is_fuse)
		return IMAGE_OPEN_E_AVOIDED;
	*ret_is_local = mount.device_major != key->device_major ||
			mount.device_minor != key->device_minor;
	return *ret_is_local && !mount.is_overlay ? IMAGE_OPEN_E_NONE : IMAGE_OPEN_E_OK;
}

/* FUSE has no block device, but for fuseblk, which only root can mount. */
static int image_check_file(int proc_fd, const struct image_key *key, int named, bool *ret_is_local)
{
	struct statx stx;
	bool same_device;

	if (!mount_root_stat(named, &stx) || !S_ISREG(stx.stx_mode) || stx.stx_ino != key->inode)
		return IMAGE_OPEN_E_NONE;
	same_device = stx.stx_dev_major == key->device_major &&
		      stx.stx_dev_minor == key->device_minor;
	*ret_is_local = false;
	if (same_device && (stx.stx_dev_major || makedev(stx.stx_dev_major, stx.stx_dev_minor) ==
							 device_of_shared_memory()))
		return IMAGE_OPEN_E_OK;
	return image_check_mount(proc_fd, key, &stx, ret_is_local);
}

static uint64_t timespec_ns(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

bool image_file_stat(int fd, struct image_file *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = timespec_ns(st.st_mtim);
	ret->ctime_ns = timespec_ns(st.st_ctim);
	return true;
}

/* What @named names, which is consumed. */
static int image_open_checked(int proc_fd, const struct image_key *key, int named_fd,
			      struct image_file *ret)
{
	cleanup(closep) int named = named_fd;
	cleanup(closep) int fd = -1;
	struct image_file file;
	int r;

	if (named < 0)
		return IMAGE_OPEN_E_NONE;
	r = image_check_file(proc_fd, key, named, &file.is_local);
	if (r)
		return r;
	fd = debug_files_reopen(named);
	if (fd < 0 || !image_file_stat(fd, &file))
		return IMAGE_OPEN_E_NONE;
	file.fd = steal_fd(&fd);
	*ret = file;
	return IMAGE_OPEN_E_OK;
}

int image_open(int proc_fd, struct mount_roots *roots, const struct image_key *key,
	       struct image_file *ret)
{
	bool is_avoided = false;
	int r, named;

	if (proc_fd < 0)
		return IMAGE_OPEN_E_NONE;
	r = image_open_checked(proc_fd, key, image_name_by_map_file(proc_fd, key), ret);
	if (r != IMAGE_OPEN_E_NONE)
		return r;
	/* Gone from there by now, or another library may be at its very addresses. */
	named = image_name_by_path(proc_fd, roots, key, &is_avoided);
	r = image_open_checked(proc_fd, key, named, ret);
	return is_avoided ? IMAGE_OPEN_E_AVOIDED : r;
}
