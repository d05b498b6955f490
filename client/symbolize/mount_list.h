/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_MOUNT_LIST_H
#define PROFD_SYMBOLIZE_MOUNT_LIST_H

/*
 * Mount points, from the text of /proc/self/mountinfo (proc(5)): on which one a path lies, and
 * whether looking at it there could take as long as somebody likes, because a process serves it
 * (FUSE) or something is mounted only when it is looked at (autofs). The file system of "/" is what
 * we run on, and never counts as such. By names alone: nothing is looked at.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

struct mount_list;

/* Pure; the text need not end in NUL. Lines that are none of mountinfo's are skipped. */
int mount_list_new(struct mount_list **ret, const char *text, size_t length);
void mount_list_free(struct mount_list *m);
DEFINE_CLEANUP(struct mount_list *, mount_list_free)

/* Whether there is anything to be careful of. */
bool mount_list_has_slow(const struct mount_list *m);
/*
 * The mount point under which the absolute @path lies, "/" at least; owned by @m. *ret_slow: not to
 * be gone to.
 */
const char *mount_list_find(const struct mount_list *m, const char *path, bool *ret_slow);

#endif
