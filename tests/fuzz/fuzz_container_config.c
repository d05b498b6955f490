/* SPDX-License-Identifier: MIT */
/* Any text as a container manager's file: what comes of it ends within its fields. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/container/container_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct worker_container c;

	if (container_config_read((const char *)data, size, "a", &c))
		return 0;
	if (!memchr(c.name, '\0', sizeof(c.name)) || !memchr(c.image, '\0', sizeof(c.image)))
		abort();
	return 0;
}
