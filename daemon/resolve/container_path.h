/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_CONTAINER_PATH_H
#define PROFD_RESOLVE_CONTAINER_PATH_H

/*
 * Which container a control group belongs to, from its path alone. Container managers name groups
 * in these ways:
 *
 *   /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
 *                                              kubelet and containerd, cgroup driver systemd
 *   /kubepods/burstable/podUID/ID              the same, cgroup driver cgroupfs
 *   .../kubepods-burstable-podUID.slice:cri-containerd:ID      where these two disagree
 *   .../crio-ID.scope                          CRI-O
 *   /system.slice/docker-ID.scope, /docker/ID  docker
 *   /machine.slice/libpod-ID.scope             podman
 *   /lxc.payload.NAME, /lxc/NAME               LXC
 *   /machine.slice/machine-NAME.scope          systemd-machined
 *   /machine.slice/systemd-nspawn@NAME.service systemd-nspawn
 *
 * UIDs of pods have '_' in place of '-' in slices. What is before "pod" may be missing: in a
 * control group namespace, as profd's own container has it, paths begin with "..".
 */
#include <stdbool.h>

#include "common/span.h"

#define CONTAINER_ID_SIZE      65
#define CONTAINER_POD_UID_SIZE 37
#define CONTAINER_MACHINE_SIZE 65 /* HOST_NAME_MAX, as machined has it */

enum container_runtime {
	CONTAINER_OTHER, /* a container, but not known whose: such as a pod's with cgroupfs */
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_LXC,
	CONTAINER_MACHINE,
};

struct container_path {
	enum container_runtime runtime;
	char id[CONTAINER_ID_SIZE];       /* 64 lower-case hex digits, or "" */
	char pod[CONTAINER_POD_UID_SIZE]; /* UID with '-', or of a static pod 32 hex digits; or ""
					   */
	char machine[CONTAINER_MACHINE_SIZE]; /* LXC's and machined's; or "" */
};

/*
 * The outermost container of @path, because the groups below it are named by its own processes. For
 * the same reason there is none below a user's slice. Pure. False: none.
 */
bool container_path_parse(const char *path, struct container_path *ret);

/*
 * The id in one component of a path: 64 lower-case hex digits, alone or after a prefix and a mark,
 * perhaps before ".scope". The monitor (conmon) that podman and CRI-O put beside a container is not
 * part of it. Pure.
 */
bool container_path_find_id(struct span component, struct span *ret);

#endif
