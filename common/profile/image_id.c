/* SPDX-License-Identifier: MIT */
#include "common/profile/image_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/fnv.h"

static void image_id_print(const char *text, const void *rest, size_t length,
			   char ret[IMAGE_ID_SIZE])
{
	uint64_t hash = fnv_hash(rest, length, fnv_hash(text, strlen(text), FNV_INIT));

	snprintf(ret, IMAGE_ID_SIZE, "%016" PRIx64, hash);
}

void image_id_of_file(const char *path, uint64_t size, uint64_t mtime_ns, char ret[IMAGE_ID_SIZE])
{
	const uint64_t numbers[] = {size, mtime_ns};

	image_id_print(path, numbers, sizeof(numbers), ret);
}

void image_id_of_kernel(const char *file, const char *release, char ret[IMAGE_ID_SIZE])
{
	image_id_print(file, release, strlen(release), ret);
}

bool image_id_is_hash(const char *id)
{
	return strlen(id) == IMAGE_ID_SIZE - 1 &&
	       strspn(id, "0123456789abcdefABCDEF") == IMAGE_ID_SIZE - 1;
}
