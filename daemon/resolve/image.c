/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/image.h"

#include <stdlib.h>
#include <unistd.h>

struct image *image_ref(struct image *image)
{
	if (image)
		atomic_fetch_add(&image->n_references, 1);
	return image;
}

void image_unref(struct image *image)
{
	if (!image || atomic_fetch_sub(&image->n_references, 1) != 1)
		return;
	if (image->fd >= 0)
		close(image->fd);
	free((char *)image->path);
	free(image);
}
