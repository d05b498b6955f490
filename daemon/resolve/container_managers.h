/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_CONTAINER_MANAGERS_H
#define PROFD_RESOLVE_CONTAINER_MANAGERS_H

/*
 * Names and images of containers in the files of their managers, which an image worker reads
 * (daemon/worker/container/container_config.h):
 *
 *   docker         /var/lib/docker/containers/ID/config.v2.json
 *   podman, CRI-O  /var/lib/containers/storage/overlay-containers/containers.json
 *   containerd     /run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json
 *
 * Questions wait in a queue, and answers for those that ask again. There is a worker as long as
 * there are questions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/resolve/containers.h"

struct container_managers;
struct memory_budget;
struct proc_door;

/* Opens by @door (borrowed). @budget: as in common/worker/worker.h. Returns 0 or negative errno. */
int container_managers_new(struct container_managers **ret, struct proc_door *door,
			   struct memory_budget *budget);
void container_managers_free(struct container_managers *m);
DEFINE_CLEANUP(struct container_managers *, container_managers_free)

/* Whether the manager of such a container has a file that is known here. */
bool container_managers_know(const struct container_path *path);
/*
 * What its manager calls the container, and its image ("" where it has none). Never waits for the
 * worker. @root_fd: the machine's root. Returns CONTAINERS_E_*: _PARTLY if there is nothing of it.
 */
int container_managers_ask(struct container_managers *m, int root_fd,
			   const struct container_path *path, uint64_t now_ns,
			   struct container_names *ret);
/* An epoll fd, always the same one: readable when container_managers_receive() has work. */
int container_managers_fd(const struct container_managers *m);
/* Takes an answer, and sends the next question. Returns 0 or negative errno. */
int container_managers_receive(struct container_managers *m);

#endif
