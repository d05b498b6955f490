/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_OWN_FILE_H
#define PROFD_COMMON_OWN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens @path to be written, after emptying a regular file unless @keep; makes it with @mode
 * (umask(2)) if it is missing. In a directory that is writable by its group (an ACL's mask counts
 * as such) or by others, or belongs to neither this process's user nor root, somebody else may have
 * put a file, a FIFO or a link there: what has this name is opened only if it is the user's own,
 * and neither a symbolic link nor one of several hard links. May block on a FIFO of the user's.
 * Returns the fd, close-on-exec, or -1 with errno; EPERM: it is not the user's own.
 */
int own_file_open(const char *path, mode_t mode, bool keep);

#endif
