/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/mount_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mounts.h"
#include "common/read_end.h"
#include "daemon/resolve/lent_fd.h"

#define MOUNTS_BYTES (1u << 20)
#define LOOK_NS      (5 * NS_PER_S)

struct mount_roots {
	int proc_fd;
	uint64_t n_calls, next_id;
	struct mount_root *held[MOUNT_ROOTS_MAX]; /* references */
	size_t n;
};

struct mount_root *mount_root_ref(struct mount_root *root)
{
	if (root)
		atomic_fetch_add(&root->n_references, 1);
	return root;
}

void mount_root_unref(struct mount_root *root)
{
	if (!root || atomic_fetch_sub(&root->n_references, 1) != 1)
		return;
	if (root->fd >= 0)
		close(root->fd);
	closep(&root->tmp_fd);
	free(root);
}

int mount_roots_new(struct mount_roots **ret, int proc_fd)
{
	struct mount_roots *roots = calloc(1, sizeof(*roots));

	if (!roots)
		return error_origin(-ENOMEM);
	roots->proc_fd = proc_fd;
	roots->next_id = 1;
	*ret = roots;
	return 0;
}

/* Whoever refers to it still sees it closed. */
static void mount_roots_remove(struct mount_roots *roots, size_t i)
{
	struct mount_root *root = roots->held[i];

	roots->held[i] = roots->held[--roots->n];
	lent_fd_give_up(&root->fd);
	closep(&root->tmp_fd);
	root->tmp_fd = -1;
	mount_root_unref(root);
}

void mount_roots_free(struct mount_roots *roots)
{
	if (!roots)
		return;
	while (roots->n)
		mount_roots_remove(roots, roots->n - 1);
	free(roots);
}

void mount_roots_sweep(struct mount_roots *roots)
{
	for (size_t i = roots->n; i-- > 0;)
		if (atomic_load(&roots->held[i]->n_references) == 1)
			mount_roots_remove(roots, i);
}

static void mount_root_proc_path(char ret[64], pid_t pid, const char *name)
{
	if (pid)
		snprintf(ret, 64, "%d/%s", pid, name);
	else
		snprintf(ret, 64, "self/%s", name);
}

char *mount_root_read_mounts(int proc_fd, pid_t pid, size_t *ret_length)
{
	char name[64], *text;

	mount_root_proc_path(name, pid, "mountinfo");
	return read_start_text(proc_fd, name, MOUNTS_BYTES, &text, ret_length) ? NULL : text;
}

bool mount_root_find_mount(int proc_fd, pid_t pid, uint64_t id, struct mounts_mount *ret)
{
	const pid_t whose[] = {0, pid};
	bool found = false;

	for (size_t i = 0; !found && i < ARRAY_SIZE(whose); i++) {
		size_t length = 0;
		cleanup(freep) char *text = mount_root_read_mounts(proc_fd, whose[i], &length);

		found = text && mounts_find(text, length, id, ret);
		ret->point = NULL;
	}
	return found;
}

int mount_root_open_below(int dir_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

int mount_root_open_path(int proc_fd, pid_t pid, int root_fd, const char *path, uint64_t flags,
			 bool *ret_refused)
{
	const uint64_t resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	int fd = mount_root_open_below(root_fd, path, flags, resolve | RESOLVE_CACHED);
	cleanup(freep) char *text = NULL;
	size_t length = 0;

	*ret_refused = false;
	/* EINVAL: RESOLVE_CACHED is not known (before Linux 5.12). */
	if (fd >= 0 || (errno != EAGAIN && errno != EINVAL))
		return fd;
	text = mount_root_read_mounts(proc_fd, pid, &length);
	*ret_refused = text && mounts_may_have_fuse(text, length);
	return text && !*ret_refused ? mount_root_open_below(root_fd, path, flags, resolve) : -1;
}

/* FUSE would ask whoever serves it, but for AT_STATX_DONT_SYNC. */
bool mount_root_stat(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		     STATX_TYPE | STATX_INO | STATX_MNT_ID, ret) == 0;
}

/* By the mounts of @pid, who is one of those that share it. */
static void look_for_fuse(const struct mount_roots *roots, struct mount_root *root, pid_t pid)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	cleanup(freep) char *text = NULL;
	size_t length = 0;

	if (root->looked_ns && now_ns - root->looked_ns < LOOK_NS)
		return;
	root->looked_ns = now_ns;
	text = mount_root_read_mounts(roots->proc_fd, pid, &length);
	atomic_store(&root->may_have_fuse, !text || mounts_may_have_fuse(text, length));
}

/* ioctl_ns(2). What cannot be told is not ours. */
static bool mount_namespace_is_ours(int proc_fd, pid_t pid)
{
	cleanup(closep) int ns = -1;
	cleanup(closep) int owner = -1;
	struct stat theirs, ours;
	char name[64];

	mount_root_proc_path(name, pid, "ns/mnt");
	ns = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return false;
	owner = ioctl(ns, NS_GET_USERNS);
	return owner >= 0 && fstat(owner, &theirs) == 0 &&
	       fstatat(proc_fd, "self/ns/user", &ours, 0) == 0 && theirs.st_ino == ours.st_ino &&
	       theirs.st_dev == ours.st_dev;
}

/*
 * Opens the root of @pid and tells which it is; *ret stays as it is if it cannot be had. Numbers of
 * mounts and namespaces are used again, but not as long as the directory is open.
 */
static int open_root(struct mount_roots *roots, pid_t pid, struct mount_root **ret)
{
	cleanup(closep) int fd = -1;
	struct mount_root *root;
	struct statx stx;
	struct stat ns;
	char name[64];

	mount_root_proc_path(name, pid, "root");
	fd = openat(roots->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !mount_root_stat(fd, &stx))
		return 0;
	root = calloc(1, sizeof(*root));
	if (!root)
		return error_origin(-ENOMEM);
	mount_root_proc_path(name, pid, "ns/mnt");
	*root = (struct mount_root){
		.n_references = 1,
		.ns_inode = fstatat(roots->proc_fd, name, &ns, 0) == 0 ? ns.st_ino : 0,
		.mount = stx.stx_mask & STATX_MNT_ID ? stx.stx_mnt_id : 0,
		.inode = stx.stx_ino,
		.device_major = stx.stx_dev_major,
		.device_minor = stx.stx_dev_minor,
		.fd = steal_fd(&fd),
		.tmp_fd = -1,
	};
	*ret = root;
	return 0;
}

static bool mount_root_equal(const struct mount_root *a, const struct mount_root *b)
{
	return a->ns_inode == b->ns_inode && a->mount == b->mount && a->inode == b->inode &&
	       a->device_major == b->device_major && a->device_minor == b->device_minor;
}

static struct mount_root *mount_roots_find(struct mount_roots *roots, const struct mount_root *like)
{
	for (size_t i = 0; i < roots->n; i++)
		if (mount_root_equal(roots->held[i], like)) {
			roots->held[i]->used = ++roots->n_calls;
			return roots->held[i];
		}
	return NULL;
}

/* Takes the reference over. */
static void mount_roots_add(struct mount_roots *roots, struct mount_root *root)
{
	size_t oldest = 0;

	for (size_t i = 1; i < roots->n; i++)
		if (roots->held[i]->used < roots->held[oldest]->used)
			oldest = i;
	if (roots->n == MOUNT_ROOTS_MAX)
		mount_roots_remove(roots, oldest);
	root->id = roots->next_id++;
	root->used = ++roots->n_calls;
	roots->held[roots->n++] = root;
}

int mount_roots_get(struct mount_roots *roots, pid_t pid, struct mount_root **ret)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	struct mount_root *held;
	int r;

	*ret = NULL;
	r = roots->proc_fd < 0 ? 0 : open_root(roots, pid, &root);
	if (r || !root)
		return r;
	held = mount_roots_find(roots, root);
	if (!held) {
		root->is_ours = mount_namespace_is_ours(roots->proc_fd, pid);
		held = steal_ptr(&root);
		mount_roots_add(roots, held);
	}
	look_for_fuse(roots, held, pid);
	*ret = mount_root_ref(held);
	return 0;
}
