/* SPDX-License-Identifier: MIT */
#include "client/formats/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"

#define LEVEL 6
#define ROOM  ((size_t)256 << 10)
#define PIECE ((size_t)1 << 30) /* zlib counts in 32 bits */

int gzip_pack(const void *data, size_t length, uint8_t **ret, size_t *ret_length)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data};
	cleanup(freep) uint8_t *packed = NULL;
	size_t n = 0, size = 0;
	int r = 0;

	/* 15 bits of window; 16 asks for gzip's framing. */
	if (deflateInit2(&z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return error_origin(-ENOMEM);
	for (bool ended = false; !ended && !r;) {
		const size_t piece = length < PIECE ? length : PIECE;

		if (!z.avail_in) {
			z.avail_in = (uInt)piece;
			length -= piece;
		}
		r = room_make(&packed, &size, n + ROOM, 1);
		if (r)
			break;
		z.next_out = packed + n;
		z.avail_out = (uInt)ROOM;
		ended = deflate(&z, length ? Z_NO_FLUSH : Z_FINISH) == Z_STREAM_END;
		n += ROOM - z.avail_out;
	}
	deflateEnd(&z);
	if (r)
		return r;
	*ret = steal_ptr(&packed);
	*ret_length = n;
	return 0;
}
