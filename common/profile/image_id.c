/* SPDX-License-Identifier: MIT */
#include "common/profile/image_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HASH_INIT UINT64_C(0xcbf29ce484222325)

static uint64_t image_id_hash(const void *data, size_t length, uint64_t value)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		value = (value ^ bytes[i]) * UINT64_C(0x100000001b3);
	return value;
}

static void image_id_print(uint64_t value, char ret[IMAGE_ID_SIZE])
{
	snprintf(ret, IMAGE_ID_SIZE, "%016" PRIx64, value);
}

void image_id_of_file(const char *path, uint64_t size, uint64_t mtime_ns, char ret[IMAGE_ID_SIZE])
{
	const uint64_t numbers[] = {size, mtime_ns};

	image_id_print(image_id_hash(numbers, sizeof(numbers),
				     image_id_hash(path, strlen(path), HASH_INIT)),
		       ret);
}

void image_id_of_kernel(const char *file, const char *release, char ret[IMAGE_ID_SIZE])
{
	image_id_print(image_id_hash(release, strlen(release),
				     image_id_hash(file, strlen(file), HASH_INIT)),
		       ret);
}

bool image_id_is_hash(const char *id)
{
	return strlen(id) == IMAGE_ID_SIZE - 1 &&
	       strspn(id, "0123456789abcdefABCDEF") == IMAGE_ID_SIZE - 1;
}
