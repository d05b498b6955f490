/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_CONTAINER_NAMES_H
#define PROFD_RESOLVE_CONTAINER_NAMES_H

/*
 * The names of a container, as its owner uses them, and what service they make. The kubelet has
 * them in the names of directory entries alone:
 *
 *   /var/log/pods/NAMESPACE_POD_UID/
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *
 * Names in Kubernetes have no '_'. Pure.
 */
#include <stdbool.h>

#include "common/span.h"
#include "daemon/resolve/container_path.h"

#define CONTAINER_NAME_SIZE  256
#define CONTAINER_IMAGE_SIZE 512

/* "" where a name is not known, or there is none. */
struct container_names {
	char service[CONTAINER_NAME_SIZE]; /* "": its processes have their unit's */
	char pod[CONTAINER_NAME_SIZE];
	char namespace[CONTAINER_NAME_SIZE];
	char container[CONTAINER_NAME_SIZE];
	char image[CONTAINER_IMAGE_SIZE];
};

/* What the path alone has: the name of an LXC container or a machine. */
void container_names_of_path(const struct container_path *path, struct container_names *ret);
/*
 * What the two directories have of a container in a pod; @pods and @logs: their entries, a line
 * each. @host: this machine's name, which static pods end in. False: not even the pod. What is not
 * found, or more than once, or not of characters that such a name has, stays "".
 */
bool container_names_of_pod(const struct container_path *path, struct span pods, struct span logs,
			    const char *host, struct container_names *ret);
/* Takes over what a container manager calls the container, and thus its service. */
void container_names_set(struct container_names *names, const char *container, const char *image);

#endif
