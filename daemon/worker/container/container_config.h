/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_CONTAINER_CONTAINER_CONFIG_H
#define PROFD_WORKER_CONTAINER_CONTAINER_CONFIG_H

/*
 * What container managers write down of containers, as JSON:
 *
 *   docker       config.v2.json: {"ID": .., "Name": "/..", "Config": {"Image": ..}}
 *   containerd   config.json of a bundle (OCI runtime specification):
 *                {"annotations": {"io.kubernetes.cri.image-name": ..}}
 *   containers/storage (podman, CRI-O)   containers.json: [{"id": .., "names": [..],
 *                "metadata": "{\"image-name\": ..}"}], of all containers
 *
 * Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/worker/protocol.h"

enum {
	CONTAINER_CONFIG_E_OK,
	CONTAINER_CONFIG_E_NONE,      /* it has nothing of that container */
	CONTAINER_CONFIG_E_MALFORMED, /* no JSON, or another kind of it */
};

/*
 * What @text has of the container with the id @id. Names are not cleaned. Returns
 * CONTAINER_CONFIG_E_* or -ENOMEM.
 */
int container_config_read(const char *text, size_t length, const char *id,
			  struct worker_container *ret);

#endif
