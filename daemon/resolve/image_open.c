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

/*
 * A device's last verdict. Numbers are used again after an unmount, so it does not hold for long;
 * and that it is not FUSE is kept only where nobody but root can unmount it: in our own namespace.
 */
struct device {
	uint32_t major, minor;
	bool is_fuse;
	uint64_t until_ns; /* CLOCK_MONOTONIC */
};

#define DEVICES_MAX    16
#define DEVICE_KEEP_NS (5 * NS_PER_S)

struct image_opener {
	int proc_fd;
	struct mount_roots *roots;
	struct device devices[DEVICES_MAX];
	unsigned next_device;
	dev_t shared_memory; /* memfds and the like, which are mounted nowhere; 0: unknown */
};

static dev_t device_of_shared_memory(void)
{
	cleanup(closep) int fd = memfd_create("profd", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

int image_opener_new(struct image_opener **ret, int proc_fd, struct mount_roots *roots)
{
	struct image_opener *o = calloc(1, sizeof(*o));

	if (!o)
		return error_origin(-ENOMEM);
	o->proc_fd = proc_fd;
	o->shared_memory = device_of_shared_memory();
	o->roots = roots;
	*ret = o;
	return 0;
}

void image_opener_free(struct image_opener *o)
{
	free(o);
}

static void cache_device_verdict(struct image_opener *o, const struct image_key *key, bool is_fuse,
				 uint64_t now)
{
	o->devices[o->next_device++ % DEVICES_MAX] = (struct device){
		.major = key->device_major,
		.minor = key->device_minor,
		.is_fuse = is_fuse,
		.until_ns = now + DEVICE_KEEP_NS,
	};
}

/* What the mounts of @pid say of @key's device. False: they cannot be read. */
static bool read_mount_kind(struct image_opener *o, pid_t pid, const struct image_key *key,
			    enum mounts_kind *ret)
{
	size_t length = 0;
	cleanup(freep) char *text = mount_root_read_mounts(o->proc_fd, pid, &length);

	if (!text)
		return false;
	*ret = mounts_kind(text, length, key->device_major, key->device_minor);
	return true;
}

/*
 * By our own mounts, else by those of the process. A device in neither is taken for FUSE: mounts
 * that were detached, that the process's root does not reach, or that come behind very many others
 * are not found, and all that can be arranged.
 */
static bool looks_like_fuse(struct image_opener *o, const struct image_key *key, uint64_t now)
{
	enum mounts_kind kind = MOUNTS_ABSENT;
	bool any;

	if (makedev(key->device_major, key->device_minor) == o->shared_memory)
		return false;
	any = read_mount_kind(o, 0, key, &kind);
	if (kind == MOUNTS_OTHER)
		cache_device_verdict(o, key, false, now);
	if (kind == MOUNTS_ABSENT)
		any |= read_mount_kind(o, key->pid, key, &kind);
	if (kind == MOUNTS_FUSE)
		cache_device_verdict(o, key, true, now);
	return kind == MOUNTS_FUSE || (kind == MOUNTS_ABSENT && any);
}

/* FUSE has no block device, but for fuseblk, which only root can mount. */
static bool image_is_on_fuse(struct image_opener *o, const struct image_key *key)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (key->device_major)
		return false;
	for (unsigned i = 0; i < DEVICES_MAX; i++) {
		const struct device *device = &o->devices[i];

		if (device->until_ns > now && device->major == key->device_major &&
		    device->minor == key->device_minor)
			return device->is_fuse;
	}
	return looks_like_fuse(o, key, now);
}

/* proc_pid_map_files(5): names are the mapping's bounds, in hexadecimal without leading zeros. */
static int image_open_map_file(struct image_opener *o, const struct image_key *key)
{
	char name[96];

	snprintf(name, sizeof(name), "%d/map_files/%" PRIx64 "-%" PRIx64, key->pid, key->start,
		 key->end);
	return openat(o->proc_fd, name, O_PATH | O_CLOEXEC);
}

/* Below the process's root; a process that is gone most likely saw the same files as we do. */
static int image_open_by_path(struct image_opener *o, const struct image_key *key)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	pid_t pid = key->pid;
	bool is_refused;

	if (mount_roots_get(o->roots, pid, &root) != MOUNT_ROOT_E_OK) {
		pid = 0;
		if (mount_roots_get(o->roots, pid, &root) != MOUNT_ROOT_E_OK)
			return -1;
	}
	return mount_root_open_path(o->proc_fd, pid, root->fd, key->path, 0, &is_refused);
}

/*
 * By the mount that the file was found through, which cannot go away as long as it is open. Devices
 * differ from what stat(2) says on btrfs, where mounts tell the right one, and on overlays.
 */
static int image_check_mount(struct image_opener *o, const struct image_key *key,
			     const struct statx *stx, bool *ret_is_local)
{
	struct mounts_mount mount;

	if (!(stx->stx_mask & STATX_MNT_ID))
		return IMAGE_OPEN_E_NONE;
	if (!mount_root_find_mount(o->proc_fd, key->pid, stx->stx_mnt_id, &mount) || mount.is_fuse)
		return IMAGE_OPEN_E_AVOIDED;
	*ret_is_local = mount.device_major != key->device_major ||
			mount.device_minor != key->device_minor;
	return *ret_is_local && !mount.is_overlay ? IMAGE_OPEN_E_NONE : IMAGE_OPEN_E_OK;
}

static int image_check_file(struct image_opener *o, const struct image_key *key, int named,
			    bool *ret_is_local)
{
	struct statx stx;
	bool same_device;

	if (!mount_root_stat(named, &stx) || !S_ISREG(stx.stx_mode) || stx.stx_ino != key->inode)
		return IMAGE_OPEN_E_NONE;
	same_device = stx.stx_dev_major == key->device_major &&
		      stx.stx_dev_minor == key->device_minor;
	*ret_is_local = false;
	if (same_device && (stx.stx_dev_major ||
			    makedev(stx.stx_dev_major, stx.stx_dev_minor) == o->shared_memory))
		return IMAGE_OPEN_E_OK;
	return image_check_mount(o, key, &stx, ret_is_local);
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
static int image_open_checked(struct image_opener *o, const struct image_key *key, int named_fd,
			      struct image_file *ret)
{
	cleanup(closep) int named = named_fd;
	cleanup(closep) int fd = -1;
	struct image_file file;
	int r;

	if (named < 0)
		return IMAGE_OPEN_E_NONE;
	r = image_check_file(o, key, named, &file.is_local);
	if (r)
		return r;
	fd = mount_root_reopen(named);
	if (fd < 0 || !image_file_stat(fd, &file))
		return IMAGE_OPEN_E_NONE;
	file.fd = steal_fd(&fd);
	*ret = file;
	return IMAGE_OPEN_E_OK;
}

int image_open(struct image_opener *o, const struct image_key *key, struct image_file *ret)
{
	int r;

	if (o->proc_fd < 0)
		return IMAGE_OPEN_E_NONE;
	if (image_is_on_fuse(o, key))
		return IMAGE_OPEN_E_AVOIDED;
	/* Gone from there by now, or another library may be at its very addresses. */
	r = image_open_checked(o, key, image_open_map_file(o, key), ret);
	return r == IMAGE_OPEN_E_NONE ? image_open_checked(o, key, image_open_by_path(o, key), ret)
				      : r;
}
