/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_MEMORY_FILE_H
#define PROFD_COMMON_HELPER_MEMORY_FILE_H

/*
 * Memory that is handed to another process as a file descriptor (memfd_create(2)). Sealed, nobody
 * can change it any more, so the receiver reads what it has checked. Errors have no origin.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For F_ADD_SEALS: nobody can change it, nor its seals. */
#define MEMORY_FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* An empty one, not executable where the kernel knows that. Returns its descriptor or -errno. */
int memory_file_new(const char *name);
/* One with @data, sealed, at its end. Returns its descriptor or -errno. */
int memory_file_of(const char *name, const void *data, size_t length);
/* Appends all of @data. Returns 0 or -errno. */
int memory_file_write(int fd, const void *data, size_t length);
/*
 * Appends what can be read of the file @path below @dir_fd, @max bytes at most, and goes back to
 * its beginning; of a directory, the names that neither begin with a dot nor have a newline, a line
 * each. Blocks as open(2) and read(2) do. Returns 0 or -errno.
 */
int memory_file_fill(int fd, int dir_fd, const char *path, size_t max);
/*
 * One with that of the file or directory @path below @dir_fd, open at its beginning. Blocks as that
 * does. Returns its descriptor or -errno.
 */
int memory_file_read(const char *name, int dir_fd, const char *path, size_t max);
/* Whether @fd is one that is all MEMORY_FILE_SEALS; *ret_length in bytes. */
bool memory_file_is_sealed(int fd, uint64_t *ret_length);

#endif
