/* SPDX-License-Identifier: MIT */
#include "common/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

int room_make(void *array, size_t *max, size_t n, size_t size)
{
	void *old, *grown;

	if (n <= *max)
		return 0;
	n += n / 2 + 16;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, n, size);
	if (!grown)
		return error_origin(-ENOMEM);
	memcpy(array, &grown, sizeof(grown));
	*max = n;
	return 0;
}
