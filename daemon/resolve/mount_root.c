/* SPDX-License-Identifier: MIT */
/*
 * Roots are held in an array, found by namespace, mount and inode. Whether FUSE is in sight is read
 * from mountinfo; a view is what one such question has read, ours and the process's, for overlays
 * need both.
 */
#include "daemon/resolve/mount_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/fair_share.h"
#include "common/mounts.h"
#include "common/proc.h"
#include "common/read_end.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/lent_fd.h"

#define MOUNTS_BYTES (1u << 20)
#define LOOK_NS      (5 * NS_PER_S)

struct mount_roots {
	int proc_fd;
	uint64_t n_calls, next_id;
	struct mount_root *host; /* a reference, or NULL: not looked at yet, or not to be had */
	pid_t host_pid;
	struct mount_root *held[MOUNT_ROOTS_MAX]; /* references */
	size_t n;
};

DEFINE_REF(mount_root)

void mount_root_unref(struct mount_root *root)
{
	if (!root || atomic_fetch_sub(&root->n_references, 1) != 1)
		return;
	if (root->fd >= 0)
		close(root->fd);
	if (root->user_ns_fd >= 0)
		close(root->user_ns_fd);
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

/* Images that refer to it still see it closed. */
static void mount_roots_remove(struct mount_roots *roots, size_t i)
{
	struct mount_root *root = roots->held[i];

	roots->held[i] = roots->held[--roots->n];
	lent_fd_give_up(&root->fd);
	lent_fd_give_up(&root->user_ns_fd);
	closep(&root->tmp_fd);
	root->tmp_fd = -1;
	mount_root_unref(root);
}

void mount_roots_free(struct mount_roots *roots)
{
	if (!roots)
		return;
	mount_root_unref(roots->host);
	while (roots->n)
		mount_roots_remove(roots, roots->n - 1);
	free(roots);
}

struct mount_root *mount_roots_host(struct mount_roots *roots)
{
	static const pid_t pids[] = {1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(pids) && !roots->host; i++) {
		roots->host_pid = pids[i];
		if (mount_roots_get(roots, pids[i], &roots->host))
			break;
	}
	return roots->host;
}

void mount_roots_sweep(struct mount_roots *roots)
{
	cleanup(mount_root_unrefp) struct mount_root *looked_at = NULL;

	/* For whether FUSE is in sight there by now. */
	if (roots->host)
		(void)mount_roots_get(roots, roots->host_pid, &looked_at);
	for (size_t i = roots->n; i-- > 0;)
		if (atomic_load(&roots->held[i]->n_references) == 1)
			mount_roots_remove(roots, i);
}

/* The directory of @pid in /proc, 0 being ourselves, which no other process with its number gets.
 */
static int mount_root_open_proc(int proc_fd, pid_t pid)
{
	char name[16] = "self";

	if (pid)
		snprintf(name, sizeof(name), "%d", pid);
	return openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Ours (0) nobody else reads. At most as much as is reasonable; malloc'ed, NULL if unreadable. */
static char *mount_root_read_mounts(int dir_fd, pid_t pid, size_t *ret_length)
{
	static const char name[] = "mountinfo";
	const size_t max = MOUNTS_BYTES;
	char *text;

	if (dir_fd < 0 || (pid ? proc_read_text(dir_fd, pid, name, &text, ret_length)
			       : read_start_text(dir_fd, name, max, &text, ret_length)))
		return NULL;
	*ret_length = *ret_length < max ? *ret_length : max;
	text[*ret_length] = '\0';
	return text;
}

/* A name for @path below the directory of @pid, or -1. */
static int mount_root_open_name(int dir_fd, pid_t pid, const char *path)
{
	int fd = -1;

	if (!pid)
		return openat(dir_fd, path, O_PATH | O_CLOEXEC);
	proc_open_name(dir_fd, pid, path, &fd);
	return fd;
}

/* The user namespace that owns the process's mount namespace (ioctl_ns(2)), or -1. */
static int mount_namespace_open_owner(int dir_fd, pid_t pid)
{
	cleanup(closep) int named = mount_root_open_name(dir_fd, pid, "ns/mnt");
	cleanup(closep) int ns = named < 0 ? -1 : debug_files_reopen(named);

	return ns < 0 ? -1 : ioctl(ns, NS_GET_USERNS);
}

/* What cannot be told is not ours. */
static bool user_namespace_is_ours(int proc_fd, int user_ns_fd)
{
	struct stat theirs, ours;

	return user_ns_fd >= 0 && fstat(user_ns_fd, &theirs) == 0 &&
	       fstatat(proc_fd, "self/ns/user", &ours, 0) == 0 && theirs.st_ino == ours.st_ino &&
	       theirs.st_dev == ours.st_dev;
}

/* (uid_t)-1: it cannot be told. */
static uid_t user_namespace_owner(int user_ns_fd)
{
	uid_t uid;

	return user_ns_fd >= 0 && ioctl(user_ns_fd, NS_GET_OWNER_UID, &uid) == 0 ? uid : (uid_t)-1;
}

static bool mount_namespace_is_ours(int proc_fd, int dir_fd, pid_t pid)
{
	cleanup(closep) int owner = mount_namespace_open_owner(dir_fd, pid);

	return user_namespace_is_ours(proc_fd, owner);
}

/*
 * Whether the kernel has no connection to a FUSE server at all, by its list of them, which is
 * mounted somewhere in @ours; those whose mount nobody sees any more are in it, too.
 */
static bool machine_has_no_fuse(const char *ours, size_t length)
{
	const char *end = ours + length;
	struct mounts_mount m;
	bool good;

	while (mounts_next(&ours, end, &m, &good)) {
		cleanup(freep) char *path = NULL;
		struct dirent *entry;
		DIR *dir;

		if (!good || !m.is_fusectl)
			continue;
		path = strndup(m.point, m.point_length);
		dir = path ? opendir(path) : NULL;
		if (!dir)
			return false;
		do
			entry = readdir(dir);
		while (entry && entry->d_name[0] == '.');
		closedir(dir);
		return !entry;
	}
	return false;
}

/* The mounts of a process, by /proc/PID at @dir_fd; and ours, which tell of what is below them. */
struct mount_root_view {
	int proc_fd, dir_fd;
	pid_t pid;
	char *text, *ours;
	size_t length, n_ours;
};

static void mount_root_view_deinit(struct mount_root_view *v)
{
	closep(&v->dir_fd);
	free(v->text);
	free(v->ours);
}

static struct mount_root_view mount_root_view_of(int proc_fd, pid_t pid)
{
	struct mount_root_view v = {.proc_fd = proc_fd, .pid = pid};

	v.dir_fd = mount_root_open_proc(proc_fd, pid);
	v.text = mount_root_read_mounts(v.dir_fd, pid, &v.length);
	return v;
}

static bool mount_root_view_add_ours(struct mount_root_view *v)
{
	cleanup(closep) int self = mount_root_open_proc(v->proc_fd, 0);

	v->ours = mount_root_read_mounts(self, 0, &v->n_ours);
	return v->ours;
}

/* If the same file system is among our mounts, no user has mounted it. */
static bool overlay_is_among_ours(const struct mount_root_view *v, const struct mounts_mount *m)
{
	const char *at = v->ours;
	struct mounts_mount our;
	bool good;

	while (mounts_next(&at, v->ours + v->n_ours, &our, &good))
		if (good && our.is_overlay && our.device_major == m->device_major &&
		    our.device_minor == m->device_minor)
			return true;
	return false;
}

/* Where anybody may mount, what an overlay says of itself proves nothing. */
static bool overlay_may_have_fuse(struct mount_root_view *v, const struct mounts_mount *m)
{
	if (!mount_root_view_add_ours(v))
		return true;
	if (!overlay_is_among_ours(v, m) && !mount_namespace_is_ours(v->proc_fd, v->dir_fd, v->pid))
		return !machine_has_no_fuse(v->ours, v->n_ours);
	return mounts_overlay_has_fuse(m, v->text, v->length) ||
	       mounts_overlay_has_fuse(m, v->ours, v->n_ours);
}

bool mount_root_find_mount(int proc_fd, pid_t pid, uint64_t id, struct mounts_mount *ret)
{
	const pid_t whose[] = {0, pid};
	bool found = false;

	for (size_t i = 0; !found && i < ARRAY_SIZE(whose); i++) {
		cleanup(mount_root_view_deinit) struct mount_root_view v =
			mount_root_view_of(proc_fd, whose[i]);

		found = v.text && mounts_find(v.text, v.length, id, ret);
		if (found && ret->is_overlay)
			ret->is_fuse = overlay_may_have_fuse(&v, ret);
		ret->point = ret->options = NULL;
	}
	return found;
}

/* The same of all overlays in sight, where no FUSE is. Most often there is none anywhere. */
static bool overlays_may_have_fuse(struct mount_root_view *v)
{
	const char *at = v->text, *end = at + v->length;
	struct mounts_mount m;
	bool good;

	while (mounts_next(&at, end, &m, &good)) {
		if (!good || !m.is_overlay)
			continue;
		if (!v->ours) {
			if (!mount_root_view_add_ours(v))
				return true;
			if (!mount_namespace_is_ours(v->proc_fd, v->dir_fd, v->pid))
				return !machine_has_no_fuse(v->ours, v->n_ours);
			if (!mounts_may_have_fuse(v->ours, v->n_ours))
				return false;
		}
		if (mounts_overlay_has_fuse(&m, v->ours, v->n_ours))
			return true;
	}
	return false;
}

/* Whether FUSE is in sight, or may be below an overlay there. The mounts could be read. */
static bool mount_root_view_may_have_fuse(struct mount_root_view *v)
{
	return mounts_may_have_fuse(v->text, v->length) || overlays_may_have_fuse(v);
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
	cleanup(mount_root_view_deinit) struct mount_root_view v = {.dir_fd = -1};

	*ret_refused = false;
	/* EINVAL: RESOLVE_CACHED is not known (before Linux 5.12). */
	if (fd >= 0 || (errno != EAGAIN && errno != EINVAL))
		return fd;
	v = mount_root_view_of(proc_fd, pid);
	*ret_refused = v.text && mount_root_view_may_have_fuse(&v);
	return v.text && !*ret_refused ? mount_root_open_below(root_fd, path, flags, resolve) : -1;
}

/* FUSE would ask its server, but for AT_STATX_DONT_SYNC. */
bool mount_root_stat(int fd, struct statx *ret)
{
	const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;

	if (statx(fd, "", flags, STATX_TYPE | STATX_UID | STATX_INO | STATX_MNT_ID, ret) == 0)
		return true;
	return errno == EACCES && statx(fd, "", flags, 0, ret) == 0;
}

bool mount_root_is_same_file(const struct statx *a, const struct statx *b)
{
	return a->stx_mask & b->stx_mask & STATX_INO && a->stx_ino == b->stx_ino &&
	       a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* By the mounts of @pid, which is one of those that share it. */
static void look_for_fuse(const struct mount_roots *roots, struct mount_root *root, pid_t pid)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	cleanup(mount_root_view_deinit) struct mount_root_view v = {.dir_fd = -1};

	if (root->looked_ns && now_ns - root->looked_ns < LOOK_NS)
		return;
	root->looked_ns = now_ns;
	v = mount_root_view_of(roots->proc_fd, pid);
	atomic_store(&root->may_have_fuse, !v.text || mount_root_view_may_have_fuse(&v));
}

/*
 * Opens the root of the process in /proc at @dir_fd and finds which it is; *ret stays as it is if
 * it cannot be had. Numbers of mounts and namespaces are used again, but not as long as the
 * directory is open.
 */
static int open_root(int dir_fd, pid_t pid, struct mount_root **ret)
{
	cleanup(closep) int fd = mount_root_open_name(dir_fd, pid, "root");
	cleanup(closep) int ns = fd < 0 ? -1 : mount_root_open_name(dir_fd, pid, "ns/mnt");
	struct mount_root *root;
	struct statx stx;
	struct stat st;

	if (fd < 0 || !mount_root_stat(fd, &stx))
		return 0;
	root = calloc(1, sizeof(*root));
	if (!root)
		return error_origin(-ENOMEM);
	*root = (struct mount_root){
		.n_references = 1,
		.ns_inode = ns >= 0 && fstat(ns, &st) == 0 ? st.st_ino : 0,
		.mount = stx.stx_mask & STATX_MNT_ID ? stx.stx_mnt_id : 0,
		.inode = stx.stx_ino,
		.device_major = stx.stx_dev_major,
		.device_minor = stx.stx_dev_minor,
		.fd = steal_fd(&fd),
		.user_ns_fd = -1,
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

/* The machine's makes no room. */
static void mount_roots_make_room(struct mount_roots *roots)
{
	struct fair_holder holders[MOUNT_ROOTS_MAX];

	if (roots->n < MOUNT_ROOTS_MAX)
		return;
	for (size_t i = 0; i < roots->n; i++) {
		const struct mount_root *root = roots->held[i];

		holders[i] = (struct fair_holder){root->owner_uid, root->used};
		if (root == roots->host)
			holders[i].used = UINT64_MAX;
	}
	mount_roots_remove(roots, fair_share_find_oldest(holders, roots->n));
}

/* Takes the reference over. */
static void mount_roots_add(struct mount_roots *roots, struct mount_root *root)
{
	mount_roots_make_room(roots);
	root->id = roots->next_id++;
	root->used = ++roots->n_calls;
	roots->held[roots->n++] = root;
}

int mount_roots_get(struct mount_roots *roots, pid_t pid, struct mount_root **ret)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	cleanup(closep) int dir = -1, owner = -1;
	struct mount_root *held;
	int r;

	*ret = NULL;
	dir = roots->proc_fd < 0 ? -1 : mount_root_open_proc(roots->proc_fd, pid);
	r = dir < 0 ? 0 : open_root(dir, pid, &root);
	if (r || !root)
		return r;
	held = mount_roots_find(roots, root);
	if (!held) {
		owner = mount_namespace_open_owner(dir, pid);
		root->is_ours = user_namespace_is_ours(roots->proc_fd, owner);
		if (!root->is_ours) {
			root->owner_uid = user_namespace_owner(owner);
			root->user_ns_fd = steal_fd(&owner);
		}
		held = steal_ptr(&root);
		mount_roots_add(roots, held);
	}
	look_for_fuse(roots, held, pid);
	*ret = mount_root_ref(held);
	return 0;
}
