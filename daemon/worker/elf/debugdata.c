/* SPDX-License-Identifier: MIT */
#include "daemon/worker/elf/debugdata.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"

/* xz -9, the hungriest of its presets, needs 65 MiB to unpack. */
#define DECODER_MEMORY_MAX (80u << 20)
#define STEP_BYTES         (1u << 18)

static int debugdata_decode(lzma_stream *stream, size_t max, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t n_allocated = 0, room = 0, n = 0;

	for (;;) {
		lzma_ret status;

		if (n == room) {
			if (n >= max)
				return DEBUGDATA_E_TOO_BIG;
			if (room_make(&data, &n_allocated, n + STEP_BYTES, 1))
				return -ENOMEM;
			room = n_allocated < max ? n_allocated : max;
		}
		stream->next_out = data + n;
		stream->avail_out = room - n;
		status = lzma_code(stream, LZMA_FINISH);
		n = room - stream->avail_out;
		if (status == LZMA_STREAM_END)
			break;
		if (status == LZMA_MEM_ERROR)
			return error_origin(-ENOMEM);
		if (status != LZMA_OK)
			return DEBUGDATA_E_MALFORMED;
	}
	*ret = steal_ptr(&data);
	*ret_length = n;
	return DEBUGDATA_E_OK;
}

int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int r;

	if (lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0) != LZMA_OK)
		return error_origin(-ENOMEM);
	stream.next_in = xz;
	stream.avail_in = length;
	r = debugdata_decode(&stream, max, ret, ret_length);
	lzma_end(&stream);
	return r;
}
