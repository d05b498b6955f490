/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_JIT_FILE_FOLDER_H
#define PROFD_RESOLVE_JIT_FILE_FOLDER_H

/*
 * The temporary folders of processes: what is /tmp below their roots. Each is kept open, once for
 * all processes that share it, as long as one of them refers to it; and it is known not to be on
 * FUSE, which cannot change while it is open. Main thread only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"

struct jit_folder {
	unsigned n_references;
	uint64_t mount, inode;
	uint32_t device_major, device_minor;
	int fd;        /* O_PATH, or -1: on FUSE, or it had to make room */
	uint64_t used; /* the number of the newest call that asked for it */
};

struct jit_folder *jit_folder_ref(struct jit_folder *folder);
/* Takes NULL. */
void jit_folder_unref(struct jit_folder *folder);
DEFINE_CLEANUP(struct jit_folder *, jit_folder_unref)

struct jit_folders;

/* @max: at most so many are known at a time. @proc_fd: borrowed. */
int jit_folders_new(struct jit_folders **ret, int proc_fd, size_t max);
void jit_folders_free(struct jit_folders *folders);
DEFINE_CLEANUP(struct jit_folders *, jit_folders_free)

enum {
	JIT_FOLDERS_E_OK,
	JIT_FOLDERS_E_NONE,    /* it has none, or is gone */
	JIT_FOLDERS_E_REFUSED, /* it cannot be reached without asking FUSE, as far as can be told */
};

/*
 * The folder of the process @pid, whose directory in /proc is @pid_fd. *ret is a new reference.
 * Returns JIT_FOLDERS_E_* or negative errno.
 */
int jit_folders_get(struct jit_folders *folders, pid_t pid, int pid_fd, struct jit_folder **ret);
/* Closes those that nobody else refers to. */
void jit_folders_sweep(struct jit_folders *folders);

/*
 * The file @name in the folder itself, neither link nor mount: opened without asking anything of
 * its file system (O_PATH). -1 and errno: ENOENT there is none, EBADF the folder is closed;
 * anything else: what bears the name is a mount, say.
 */
int jit_folder_name(const struct jit_folder *folder, const char *name);

#endif
