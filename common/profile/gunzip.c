/* SPDX-License-Identifier: MIT */
#include "common/profile/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"

#define STEP_MAX ((size_t)1 << 30) /* zlib counts in 32 bits */

static void gunzip_deinit(z_stream *z)
{
	inflateEnd(z);
}

bool gunzip_is_gzip(const uint8_t *data, size_t length)
{
	return length >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

int gunzip_buffer(const uint8_t *data, size_t length, size_t max_bytes, uint8_t **ret,
		  size_t *ret_length, size_t *ret_offset)
{
	cleanup(gunzip_deinit) z_stream z = {0};
	cleanup(freep) uint8_t *out = NULL;
	size_t at = 0, n = 0, size = 0, step, room;
	int r, outcome;

	/* 15 bits of window; 16 asks for gzip's framing instead of zlib's. */
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return error_origin(-ENOMEM);
	for (;;) {
		r = room_make(&out, &size, n + 4096, 1);
		if (r)
			return r;
		step = length - at < STEP_MAX ? length - at : STEP_MAX;
		room = size - n < STEP_MAX ? size - n : STEP_MAX;
		z.next_in = (z_const Bytef *)(uintptr_t)(data + at);
		z.avail_in = (uInt)step;
		z.next_out = out + n;
		z.avail_out = (uInt)room;
		outcome = inflate(&z, Z_NO_FLUSH);
		at += step - z.avail_in;
		n += room - z.avail_out;
		if (n > max_bytes)
			return GUNZIP_E_TOO_BIG;
		if (outcome == Z_MEM_ERROR)
			return error_origin(-ENOMEM);
		if (outcome == Z_STREAM_END && at == length)
			break;
		if (outcome == Z_STREAM_END && gunzip_is_gzip(data + at, length - at)) {
			inflateReset(&z);
		} else if (outcome != Z_OK) {
			*ret_offset = at;
			return GUNZIP_E_MALFORMED;
		}
	}
	*ret = steal_ptr(&out);
	*ret_length = n;
	return GUNZIP_E_OK;
}
