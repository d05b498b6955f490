/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_IMAGE_ID_H
#define PROFD_COMMON_PROFILE_IMAGE_ID_H

/*
 * The id, in image profiles, of an image that has no build id: 16 hexadecimal digits of a hash
 * (FNV-1a, 64 bits) of what identifies it, so that a rebuilt file is another image. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_ID_SIZE 17 /* with the NUL */

/* @path: as the process sees it. */
void image_id_of_file(const char *path, uint64_t size, uint64_t mtime_ns, char ret[IMAGE_ID_SIZE]);
/* @file: "vmlinux", "module.ko"; @release: of the kernel (uname(2)). */
void image_id_of_kernel(const char *file, const char *release, char ret[IMAGE_ID_SIZE]);

/* Whether @id may be one of these: a build id of 8 bytes looks the same, those of Go do not. */
bool image_id_is_hash(const char *id);

#endif
