/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_IMAGE_TABLE_H
#define PROFD_RESOLVE_IMAGE_TABLE_H

/*
 * All images that are mapped somewhere, each once: the same image is the same inode of the same
 * device, as the kernel names it in the record of a mapping, unchanged in size and times. Build ids
 * and paths are labels that anybody can forge, and play no part.
 *
 * At most half of RLIMIT_NOFILE are open at a time, those of images that were replaced or deleted
 * included. Beyond that, the one that was used the longest time ago is closed: its image has no
 * file any more, and when it is mapped anew, it is a new image.
 *
 * Main thread only. Opening may block on the disk for the file's headers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/resolve/image.h"
#include "daemon/resolve/mount_root.h"

/* What a mapping says of the file behind it. */
struct image_key {
	const char *path; /* as in a maps line, without " (deleted)" */
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint64_t inode_generation; /* 0: unknown */
	pid_t pid;                 /* a process that maps it, and where: to open the file */
	uint64_t start, end;
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it was mapped; 0: unknown */
	/*
	 * The id of the process's mount root, or that of the process that forked it, else 0; the
	 * table corrects it when it looks at the process, which it does where no image is known by
	 * that root. NULL: it is always looked at.
	 */
	uint64_t *root_id;
};

/*
 * Opens the file behind a mapping without trusting anybody: through /proc/PID/map_files where that
 * is allowed and still leads to it, else below the root of the process, where symbolic links cannot
 * leave that root.
 *
 * A process can exchange what it maps, and what lies at a path, between the kernel's record and our
 * look at it. So the file is first only named (O_PATH), then judged by what the kernel says of it,
 * and only then opened, through the name's descriptor: it must be a regular file, with the inode
 * that was mapped, and not on FUSE. A server of FUSE could stop profd for good, so nothing is
 * asked of such a file system here (names come from copies: symbols_private.h), nor of an overlay
 * that may be over one (mount_root_find_mount()); files of mounts that are nowhere in sight might
 * be on one and are left alone as well. Paths are walked in the kernel's cache only, where mapped
 * files nearly always are, unless no FUSE is in sight. What remains is a network file system whose
 * server hangs, and an overlay over FUSE that root mounted by relative paths.
 */
enum {
	IMAGE_OPEN_E_OK,
	IMAGE_OPEN_E_NONE,    /* gone, not allowed, or another file */
	IMAGE_OPEN_E_AVOIDED, /* it is on FUSE, or may be */
};

struct image_file {
	int fd; /* read-only */
	/*
	 * It has the inode number that was mapped, but a device that differs: overlays do that
	 * before Linux 6.8, by naming the file below. The kernel does not vouch that it is the same
	 * file as that of another process, then.
	 */
	bool is_local;
	uint64_t size, mtime_ns, ctime_ns;
};

/*
 * @proc_fd: a directory fd of /proc; -1: no file is opened. Returns IMAGE_OPEN_E_*; *ret->fd is the
 * caller's. Blocks for the disk at most.
 */
int image_open(int proc_fd, struct mount_roots *roots, const struct image_key *key,
	       struct image_file *ret);

struct image_table;

/* @proc_fd: a directory fd of /proc, borrowed; -1: no file is opened (a replay). */
int image_table_new(struct image_table **ret, int proc_fd);
void image_table_free(struct image_table *t);
DEFINE_CLEANUP(struct image_table *, image_table_free)

/* Of the processes that map images, and of others who want theirs; lives as long as @t. */
struct mount_roots *image_table_roots(struct image_table *t);
/* Finds or makes the image. *ret is a new reference. Returns 0 or negative errno. */
int image_table_get(struct image_table *t, const struct image_key *key, struct image **ret);
/* Forgets the images that nobody else refers to. Call it now and then. */
void image_table_sweep(struct image_table *t);
size_t image_table_count(const struct image_table *t);
/* Images without a file because it is on FUSE, since the start. */
uint64_t image_table_avoided(const struct image_table *t);
size_t image_table_bytes(const struct image_table *t);

#endif
