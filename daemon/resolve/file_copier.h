/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_FILE_COPIER_H
#define PROFD_RESOLVE_FILE_COPIER_H

/*
 * Copies images that are only to be had by asking a file system that may not answer: those on FUSE.
 * A child process of its own makes each copy (keeper.h), and is given up when that takes too long.
 *
 * FUSE of a user namespace (rootless containers) answers in there alone, so the child enters it.
 * That takes CAP_SYS_ADMIN, which no other child has, or to be the user who owns the namespace.
 * Root of that namespace has all capabilities over what is in there, and may be hostile. So the
 * child enters with nothing of ours but the copy and the end of a pipe, cannot be traced or read
 * (prctl(2), PR_SET_DUMPABLE), and keeps our ids but for files. What is left to do to it is to kill
 * or to stop it, which is the same as a server that does not answer.
 *
 * One thread at a time.
 */
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"

#define FILE_COPIER_MAX (32u << 20) /* bytes of a file */

struct file_copier;

/*
 * Forks: as keeper.h has it. A later child, where the keeper was lost, may have less than is needed
 * to enter namespaces. @wait_ns: for one copy; 0: FILE_OPENER_WAIT_NS.
 */
int file_copier_new(struct file_copier **ret, uint64_t wait_ns);
void file_copier_free(struct file_copier *c);
DEFINE_CLEANUP(struct file_copier *, file_copier_free)

/*
 * From here on nothing else of ours enters or makes a user namespace: neither this thread nor what
 * it starts. Of a unit, RestrictNamespaces= is for all its processes. Returns 0 or negative errno.
 */
int file_copier_forbid_others(void);

struct file_copier_image {
	int root_fd;    /* of the file system, as for file_opener_open() */
	int user_ns_fd; /* the user namespace to ask from, or -1: ours */
	pid_t pid;      /* who maps it, or 0 */
	const char *path;
	uint64_t inode;
	uint32_t device_major, device_minor;
};

/*
 * A memfd with all of it, FUSE or not, of at most FILE_COPIER_MAX bytes; FILE_OPENER_E_NONE also if
 * it is another file. Where the file is not to be had, the memfd has what @pid has mapped of it and
 * cannot write, with holes; then an ELF file says that it has no sections, and its entry point is
 * where its first byte is mapped, as the runtime linker may have changed its dynamic section.
 *
 * Blocks and returns as file_opener_open(). With FILE_OPENER_E_SLOW, *ret_left is a descriptor that
 * hangs up (POLLHUP) when the child that was given up has ended: FUSE decides when. Until then that
 * has nothing of ours but the other end, and its part of the copy is freed.
 */
int file_copier_copy(struct file_copier *c, const struct file_copier_image *image, int *ret,
		     int *ret_left);

#endif
