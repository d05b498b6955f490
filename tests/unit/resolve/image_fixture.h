/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_IMAGE_FIXTURE_H
#define PROFD_TESTS_IMAGE_FIXTURE_H

/*
 * A directory that stands for /proc, with processes whose roots are directories in it. Their files
 * are on this machine's file system, whatever that is; which one it is for them is in the mountinfo
 * that the test writes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/resolve/image_table.h"
#include "daemon/resolve/mount_root.h"
#include "tests/support/temp_dir.h"

#define PID   7
#define MINOR 20 /* of the device that is mounted for PID; its major number is 0 */

struct world {
	struct temp_dir proc;
	uint64_t mount; /* the number of the mount that all of it is on */
};

/*
 * The mount that everything is on, for @pid (0: for ourselves), and another line so that MINOR is
 * in sight.
 */
static inline void write_mounts(const struct world *w, int pid, const char *type,
				unsigned device_minor)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), pid ? "%d/mountinfo" : "self/mountinfo", pid);
	snprintf(text, sizeof(text),
		 "%llu 1 0:%u / / rw - %s x rw\n"
		 "999999999 1 0:%u / /m rw - ext4 x rw\n",
		 (unsigned long long)w->mount, device_minor, type, MINOR);
	write_text(w->proc.fd, path, text);
}

/* PID has one file, "program". */
static inline void world_make(struct world *w)
{
	struct statx stx;

	temp_dir_make(&w->proc);
	assert_true(mount_root_stat(w->proc.fd, &stx));
	assert_true(stx.stx_mask & STATX_MNT_ID);
	w->mount = stx.stx_mnt_id;
	write_text(w->proc.fd, "7/root/program", "no ELF");
	write_mounts(w, PID, "ext4", MINOR);
}

static inline void world_remove(struct world *w)
{
	temp_dir_remove(&w->proc);
}

static inline uint64_t inode_of(const struct world *w, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(w->proc.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

static inline struct image_key key_of(const char *path, uint64_t inode)
{
	return (struct image_key){.path = path,
				  .device_minor = MINOR,
				  .inode = inode,
				  .pid = PID,
				  .start = 0x1000,
				  .end = 0x2000};
}

#endif
