/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_IMAGE_TABLE_H
#define PROFD_RESOLVE_IMAGE_TABLE_H

/*
 * All images that are mapped somewhere, each once. Knows how to open the file behind a mapping
 * without trusting its path: through /proc/PID/map_files where that is allowed, else below
 * /proc/PID/root, where symbolic links cannot leave that root; and only if what was opened is the
 * inode that the kernel named.
 *
 * At most half of RLIMIT_NOFILE are open at a time; an image beyond that has no file, hence no
 * names.
 *
 * Files of FUSE file systems are not opened at all: whoever serves them could stop profd for good;
 * nor are those of devices that are mounted nowhere in sight, as they might be the same. What
 * remains is a network file system whose server hangs, FUSE below an overlay, and FUSE that was
 * mounted over the path since (where map_files cannot be had).
 *
 * Main thread only. Opening may block on the disk for the file's headers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/resolve/image.h"

/* What a mapping says of the file behind it. */
struct image_key {
	const char *path; /* as in a maps line, without " (deleted)" */
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint64_t inode_generation; /* 0: unknown */
	pid_t pid;                 /* a process that maps it, and where: to open the file */
	uint64_t start, end;
};

struct image_table;

/* @proc_fd: a directory fd of /proc, borrowed; -1: no file is opened (a replay). */
int image_table_new(struct image_table **ret, int proc_fd);
void image_table_free(struct image_table *t);
DEFINE_CLEANUP(struct image_table *, image_table_free)

/* Finds or makes the image. *ret is a new reference. Returns 0 or negative errno. */
int image_table_get(struct image_table *t, const struct image_key *key, struct image **ret);
/* Forgets the images that nobody else refers to. Call it now and then. */
void image_table_sweep(struct image_table *t);
size_t image_table_count(const struct image_table *t);
/* Images without a file because it is on FUSE, since the start. */
uint64_t image_table_avoided(const struct image_table *t);
size_t image_table_bytes(const struct image_table *t);

#endif
