/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_READ_END_H
#define PROFD_COMMON_READ_END_H

/* Reading what has no known size: files of the kernel's (/proc, /sys), pipes. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Everything up to the end of @fd: malloc'ed, the caller's, and ended by a NUL that is not counted.
 * Blocks as read(2) does. Returns 0, -ENOMEM, or a positive errno: EFBIG if that is more than @max
 * bytes, or what read(2) or open(2) has.
 */
int read_end(int fd, size_t max, uint8_t **ret, size_t *ret_length);
/* The same for the file @path below @dir_fd, a text; does not wait for the writer of a pipe. */
int read_end_text(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_length);
/* The same, but of a longer text the first @max bytes. */
int read_start_text(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_length);

/*
 * Reads @length bytes of the file at @offset, or as many as there are: returns how many, or -1 with
 * errno. A range that no file can have is one behind the file's end.
 */
ssize_t read_range(int fd, void *ret, size_t length, uint64_t offset);

#endif
