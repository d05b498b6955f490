/* SPDX-License-Identifier: MIT */

/* Any text as /proc/PID/mountinfo; what is said of a mount and of the whole text agree. */
#include <stdint.h>
#include <stdlib.h>

#include "common/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	bool may_have_fuse = mounts_may_have_fuse(text, size);

	for (unsigned n = 0; n < 16; n++) {
		struct mounts_mount mount;

		if (mounts_find(text, size, n, &mount) &&
		    ((mount.is_fuse && !may_have_fuse) || (mount.is_fuse && mount.is_overlay)))
			abort();
		if (mounts_find(text, size, n, &mount) && mount.is_overlay &&
		    mounts_overlay_has_fuse(&mount, text, size) && !may_have_fuse)
			abort();
	}
	return 0;
}
