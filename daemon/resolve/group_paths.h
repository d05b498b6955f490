/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_GROUP_PATHS_H
#define PROFD_RESOLVE_GROUP_PATHS_H

/*
 * The paths of control groups of version 2 by their ids, which the kernel's records have: so no
 * process has to be asked for its own, and one that is gone has one all the same.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct group_paths;
struct proc_door;

/* Opens by @door (borrowed). Where version 2 is not mounted, no group is found. */
int group_paths_new(struct group_paths **ret, struct proc_door *door);
void group_paths_free(struct group_paths *g);
DEFINE_CLEANUP(struct group_paths *, group_paths_free)

enum {
	GROUP_PATHS_E_OK,
	GROUP_PATHS_E_NONE,  /* it is removed, or not below what is mounted */
	GROUP_PATHS_E_LATER, /* it could not be asked for now */
};

/*
 * The path of the group @id below the mounted root, as /proc/PID/cgroup has it: "/a.slice/b.scope".
 * @userdata: the struct group_paths. Blocks for some 50 us. Returns GROUP_PATHS_E_*.
 */
int group_paths_find(void *userdata, uint64_t id, char *ret, size_t size);

#endif
