/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_OUTPUT_FILE_H
#define PROFD_PROFCTL_OUTPUT_FILE_H

/* Files that a verb writes for its user. */
#include <stddef.h>
#include <stdint.h>

/*
 * Writes @data to @path, whole or not at all: under a temporary name beside it, then renamed. What
 * is there and no regular file (/dev/null, a pipe) is written into. Returns 0 or negative errno.
 */
int output_file_save(const char *path, const uint8_t *data, size_t length);

#endif
