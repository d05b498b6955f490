/* SPDX-License-Identifier: MIT */
/* Any bytes as dpkg's status, whole and in pieces: versions are clean, and the same ones. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/worker/answer.h"
#include "daemon/worker/package/dpkg_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_in_pieces(const uint8_t *data, size_t size, size_t piece,
			   struct dpkg_package ret[2])
{
	static struct dpkg_status s;

	dpkg_package_parse((struct span){"a", 1}, &ret[0]);
	dpkg_package_parse((struct span){"b:x", 3}, &ret[1]);
	dpkg_status_begin(&s, ret, 2);
	for (size_t at = 0; at < size; at += piece)
		dpkg_status_read(&s, (struct span){(const char *)data + at,
						   size - at < piece ? size - at : piece});
	dpkg_status_end(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dpkg_package whole[2], pieces[2];

	read_in_pieces(data, size, size + 1, whole);
	read_in_pieces(data, size, 1 + size / 3, pieces);
	for (unsigned i = 0; i < 2; i++)
		if (!memchr(whole[i].version, '\0', sizeof(whole[i].version)) ||
		    !text_is_clean(whole[i].version, strlen(whole[i].version)) ||
		    strcmp(whole[i].version, pieces[i].version) != 0)
			abort();
	return 0;
}
