/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_FILES_H
#define PROFD_SYMBOLIZE_FILES_H

/*
 * Opens files whose names strangers chose: regular ones only, and none for which somebody could let
 * us wait. Below a root: "/", or a directory that a test has made up.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

/* Where files lie that were fetched by build id, as below /usr/lib/debug. */
#define FILES_FETCHED_DIR "/var/cache/profd/debuginfo"

struct files;

/* @root_fd: a directory; borrowed. */
int files_new(struct files **ret, int root_fd);
void files_free(struct files *f);
DEFINE_CLEANUP(struct files *, files_free)

/*
 * The fd of the regular file at @path (absolute), read-only, the caller's; or -1, and why not in
 * *ret_why, a text for people.
 */
int files_open(const struct files *f, const char *path, const char **ret_why);
/* The same for the debug file of a build id in FILES_FETCHED_DIR. */
int files_open_fetched(const struct files *f, const uint8_t *id, size_t length);
/*
 * All of a file of the kernel's (/proc, /sys), which tell no size: malloc'ed, the caller's. Returns
 * 0 or negative errno, of which only -ENOMEM is ours.
 */
int files_read_kernel(const struct files *f, const char *path, char **ret, size_t *ret_length);

/*
 * Mount points, by the text of /proc/self/mountinfo (proc(5)), which need not end in NUL: on which
 * one a path lies, and whether looking at it there could take as long as somebody likes, because a
 * process serves it (FUSE) or something is mounted only when it is looked at (autofs). The file
 * system of "/" is what we run on, and never counts as such. By names alone: nothing is looked at.
 * Pure.
 */

/* Whether there is anything to be careful of. */
bool files_has_slow_mount(const char *text, size_t length);
/*
 * How many bytes of the absolute @path are the mount point under which it lies; 0: "/". *ret_slow:
 * not to be gone to.
 */
size_t files_mount_of(const char *text, size_t length, const char *path, bool *ret_slow);

#endif
