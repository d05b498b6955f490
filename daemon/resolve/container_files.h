/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_CONTAINER_FILES_H
#define PROFD_RESOLVE_CONTAINER_FILES_H

/*
 * Finds the names of containers in the files that container managers keep, below the root of
 * process 1, which is the machine's even where profd is in a container of its own:
 *
 *   kubelet  /var/log/pods and /var/log/containers (container_names.h): the names of entries alone
 *   others   container_managers.h
 *
 * All is opened by the door's child.
 */
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/resolve/containers.h"

struct container_files;
struct memory_budget;
struct proc_door;

/*
 * @proc_fd: a directory fd of /proc; @host_name: this machine's, NULL: as the kernel has it;
 * @budget: as in common/worker/worker.h. All are borrowed. Returns 0 or negative errno.
 */
int container_files_new(struct container_files **ret, struct proc_door *door, int proc_fd,
			const char *host_name, struct memory_budget *budget);
void container_files_free(struct container_files *f);
DEFINE_CLEANUP(struct container_files *, container_files_free)

/* A containers_ask_fn; @userdata: the struct container_files. Blocks for some 200 us. */
int container_files_ask(void *userdata, const struct container_path *path, uint64_t now_ns,
			struct container_names *ret);
/*
 * Readable when an answer has come: what got CONTAINERS_E_BUSY may be asked for again then.
 * Always the same one.
 */
int container_files_fd(const struct container_files *f);
/* To be called then. Returns 0 or negative errno. */
int container_files_receive(struct container_files *f);

#endif
