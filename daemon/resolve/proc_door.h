/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROC_DOOR_H
#define PROFD_RESOLVE_PROC_DOOR_H

/*
 * How the main thread gets at files about other processes: all of them in a child (file_opener.h),
 * because most wait for locks that the process's owner can hold. What takes longer than
 * PROC_DOOR_WAIT_NS is as good as gone, and leaves a child behind for as long as it lasts: a few
 * of a user, and HELD_UP_MAX of all (held_up.h).
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/clock.h"

#define PROC_DOOR_WAIT_NS (250 * NS_PER_MS)

struct proc_door;

/* Forks: as keeper.h has it. Opens for the calling thread from now on (proc_open_by()). */
int proc_door_new(struct proc_door **ret, int proc_fd);
/* By the same thread, which opens for itself again. */
void proc_door_free(struct proc_door *d);
DEFINE_CLEANUP(struct proc_door *, proc_door_free)

/* As file_opener_open_group(), by the same child. Nobody's locks are waited for there. */
int proc_door_open_group(struct proc_door *d, int groups_fd, uint64_t id, int *ret);

/*
 * As file_opener_open(), by the same child: below @root_fd, a directory that no user but root
 * rules.
 */
int proc_door_open_file(struct proc_door *d, int root_fd, const char *path, unsigned flags,
			int *ret);

#define PROC_DOOR_NAMED_MAX 4
/* How many living processes it waited for in vain, not counting twice; @ret: the first of them. */
size_t proc_door_held_up(struct proc_door *d, pid_t ret[PROC_DOOR_NAMED_MAX]);

#endif
