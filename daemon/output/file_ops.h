/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_FILE_OPS_H
#define PROFD_OUTPUT_FILE_OPS_H

/*
 * The system calls that change the store, in a table, so that tests can make any one of them fail
 * or be the last thing a process does. Each sets errno like the call it stands for.
 */
#include <sys/types.h>

struct file_ops {
	int (*make_folder)(int folder, const char *name, mode_t mode);
	int (*open)(int folder, const char *name, int flags, mode_t mode);
	ssize_t (*write)(int fd, const void *data, size_t length);
	int (*sync)(int fd); /* the whole file system */
	int (*sync_file)(int fd);
	int (*rename)(int folder, const char *from, const char *to, unsigned flags);
	int (*sync_folder)(int fd);
	int (*unlink)(int folder, const char *name, int flags);
};

/* The real ones. */
extern const struct file_ops file_ops_system;

#endif
