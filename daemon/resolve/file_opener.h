/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_FILE_OPENER_H
#define PROFD_RESOLVE_FILE_OPENER_H

/*
 * Opens files in directories that strangers rule. A walk to a file asks every file system on the
 * way, and one of those may be served by whoever wants to see us wait (FUSE), or by a server that
 * is gone (NFS). So the walk happens in a child process (keeper.h), and what takes too long is as
 * good as not there.
 *
 * What is on FUSE is not opened at all (file_copier.h has copies): even close(2) would ask there.
 * An overlay may lie over FUSE, and cannot be asked for that.
 *
 * A child that waits for FUSE cannot be killed before that answers or is gone, and is left behind:
 * callers do well to avoid FUSE as far as they know of it.
 *
 * Reading what was opened can block as well: that is for the image worker. One thread at a time.
 *
 * The same goes for /proc (proc_door.h), whose files it can read, too.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/clock.h"

#define FILE_OPENER_WAIT_NS (2 * NS_PER_S)

struct file_opener;

/* Forks: as keeper.h has it. @wait_ns: for one file; 0: FILE_OPENER_WAIT_NS. */
int file_opener_new(struct file_opener **ret, uint64_t wait_ns);
void file_opener_free(struct file_opener *o);
DEFINE_CLEANUP(struct file_opener *, file_opener_free)

enum {
	FILE_OPENER_E_OK,
	FILE_OPENER_E_NONE, /* no regular file, or on FUSE, or none that we may read */
	FILE_OPENER_E_SLOW, /* it took too long; better not to ask in that directory again soon */
	FILE_OPENER_E_LOST, /* there is no child at the moment */
};

enum {
	FILE_OPENER_CROSS_MOUNTS = 1,   /* not only on the root's own file system */
	FILE_OPENER_TRUST_OVERLAYS = 2, /* whoever made them would not hide FUSE below */
	FILE_OPENER_NAME = 4, /* instead of all this: whatever is at the path, unopened (O_PATH) */
	/* Or a memfd with the first FILE_OPENER_TEXT_MAX bytes of that, or a directory's names. */
	FILE_OPENER_TEXT = 8,
};

#define FILE_OPENER_TEXT_MAX (32u << 20)

/*
 * The regular file at @path below @root_fd, read-only: symbolic links and ".." do not lead out of
 * there. @flags: the above. Blocks, but not longer than it was told. Returns FILE_OPENER_E_*.
 */
int file_opener_open(struct file_opener *o, int root_fd, const char *path, unsigned flags,
		     int *ret);
/*
 * A memfd with what package_lists_search() finds of @paths, a line each, in the directory at @path;
 * its bounds, and that of a request, hold. As above.
 */
int file_opener_search_lists(struct file_opener *o, int root_fd, const char *path,
			     const char *paths, unsigned flags, int *ret);
/*
 * The name (O_PATH) of the control group of version 2 whose id is @id: what
 * bpf_get_current_cgroup_id() says, and the number of its directory. @groups_fd: any directory of
 * that file system, open for reading. As above.
 */
int file_opener_open_group(struct file_opener *o, int groups_fd, uint64_t id, int *ret);

#endif
