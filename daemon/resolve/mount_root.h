/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MOUNT_ROOT_H
#define PROFD_RESOLVE_MOUNT_ROOT_H

/*
 * The files that a process sees: a mount namespace, and a directory in it that is "/" there. It is
 * kept as an open descriptor of that directory, once for all processes that share it, so that files
 * can be looked for when the process has ended.
 *
 * An open root keeps file systems from being unmounted, and somebody can make namespaces without
 * end. So at most MOUNT_ROOTS_MAX are open; the one that was asked for the longest time ago gives
 * way, of users' that of who has the most (fair_share.h), and who still refers to it finds it
 * closed. Those that nobody refers to are closed too.
 *
 * References may be given back by any thread; all else is the main thread's, but for lent_fd.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"

#define MOUNT_ROOTS_MAX 128

/* What is looked for. On the host, only root can bring the first and the last one to a halt. */
enum mount_root_place {
	MOUNT_ROOT_DEBUG_DIR, /* debug files */
	MOUNT_ROOT_ELSEWHERE, /* the same */
	MOUNT_ROOT_PACKAGES,
	N_MOUNT_ROOT_PLACES
};

struct mount_root {
	atomic_uint n_references;
	uint64_t id;           /* never reused */
	uint64_t ns_inode;     /* of the mount namespace; 0 unknown */
	uint64_t mount, inode; /* of the directory; inode 0: on FUSE that does not let us in */
	uint32_t device_major, device_minor;
	/*
	 * The namespace is owned by our user namespace: a process that mounts there has its
	 * privileges. Where anybody may mount, an overlay can hide FUSE.
	 */
	bool is_ours;
	uid_t owner_uid;       /* whose namespace it is; root's, where it is ours */
	atomic_int user_ns_fd; /* the owner, where it is not ours, or -1; as fd */
	/* FUSE is somewhere in sight, or may be below an overlay. Looked at every few seconds. */
	atomic_bool may_have_fuse;
	/* CLOCK_MONOTONIC until when nothing is looked for there: something did not answer. */
	atomic_uint_least64_t slow_until_ns[N_MOUNT_ROOT_PLACES];
	atomic_int fd; /* O_PATH, or -1: it had to make room; see lent_fd.h */
	/* The main thread's: the number of the newest call that asked for it; when FUSE was looked
	 * for, CLOCK_MONOTONIC. */
	uint64_t used, looked_ns;
	/* The same: the directory /tmp in it, or -1, and which it is; jit_files.c. */
	int tmp_fd;
	uint64_t tmp_mount, tmp_inode;
};

struct mount_root *mount_root_ref(struct mount_root *root);
void mount_root_unref(struct mount_root *root);
DEFINE_CLEANUP(struct mount_root *, mount_root_unref)

struct mount_roots;

/* @proc_fd: a directory fd of /proc, borrowed; -1: every process is gone. */
int mount_roots_new(struct mount_roots **ret, int proc_fd);
void mount_roots_free(struct mount_roots *roots);
DEFINE_CLEANUP(struct mount_roots *, mount_roots_free)

/*
 * The root of @pid, 0 being ourselves. *ret is a new reference, or NULL: the process is gone, or
 * may not be looked at. Asks no file system anything. Returns 0 or negative errno.
 */
int mount_roots_get(struct mount_roots *roots, pid_t pid, struct mount_root **ret);
/*
 * The machine's: that of process 1, else our own, which may be a container's or have less in it;
 * the same one from the first call on. It stays open. Borrowed; NULL if neither can be had.
 */
struct mount_root *mount_roots_host(struct mount_roots *roots);
/* Closes those that nobody else refers to. Call it now and then. */
void mount_roots_sweep(struct mount_roots *roots);

/*
 * The mount of that number, by our own mounts, else by those of @pid; but for its point and
 * options. False: it is in neither, and may be anything. An overlay that may be made of directories
 * on FUSE is FUSE, too: one that says so, and one that a user mounted in a namespace of his own,
 * unless no FUSE is mounted on the whole machine.
 */
struct mounts_mount;
bool mount_root_find_mount(int proc_fd, pid_t pid, uint64_t id, struct mounts_mount *ret);
/*
 * What stat(2) would say, and the number of the mount, without asking the file system. FUSE that
 * does not let us in has device and mount alone (fuse_getattr()): no STATX_INO, and all else is 0.
 */
struct statx;
bool mount_root_stat(int fd, struct statx *ret);
/* Whether two of these are of one file. Pure. */
bool mount_root_is_same_file(const struct statx *a, const struct statx *b);

/* openat2(2) with O_PATH, which asks nothing of the file that is found. */
int mount_root_open_below(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);
/*
 * The same of @path below the root @root_fd of @pid: by way of the kernel's cache, and by the file
 * systems themselves only if none there can be FUSE; *ret_refused: one can.
 */
int mount_root_open_path(int proc_fd, pid_t pid, int root_fd, const char *path, uint64_t flags,
			 bool *ret_refused);

#endif
