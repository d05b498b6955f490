/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_IMAGE_OPEN_H
#define PROFD_RESOLVE_IMAGE_OPEN_H

/*
 * Opens the file behind a mapping without trusting anybody: through /proc/PID/map_files where that
 * is allowed and still leads to it, else below the root of the process, where symbolic links cannot
 * leave that root.
 *
 * A process can exchange what it maps, and what lies at a path, between the kernel's record and our
 * look at it. So the file is first only named (O_PATH), then judged by what the kernel says of it,
 * and only then opened, through the name's descriptor: it must be a regular file, with the inode
 * that was mapped, and not on FUSE. Whoever serves FUSE could stop profd for good, so nothing is
 * asked of such a file system; files of mounts that are nowhere in sight might be on one and are
 * left alone as well. Paths are walked in the kernel's cache only, where mapped files
 * nearly always are, unless no FUSE is in sight. What remains is a network file system whose server
 * hangs, and FUSE below an overlay.
 *
 * Main thread only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/resolve/image_table.h"
#include "daemon/resolve/mount_root.h"

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

/* Size and times of an open file. False: they cannot be told. */
bool image_file_stat(int fd, struct image_file *ret);

#endif
