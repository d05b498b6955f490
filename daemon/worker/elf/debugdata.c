/* SPDX-License-Identifier: MIT */
#include "daemon/worker/elf/debugdata.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"

/* xz -9, the hungriest of its presets, needs 65 MiB to unpack. */
#define DECODER_MEMORY_MAX (80u << 20)
#define FIRST_BYTES        (1u << 18)

/* Room for more. Returns DEBUGDATA_E_OK, _TOO_BIG or -ENOMEM. */
static int debugdata_grow(uint8_t **data, size_t *n_allocated, size_t max)
{
	size_t n = *n_allocated ? *n_allocated : FIRST_BYTES / 2;
	uint8_t *p;

	if (*n_allocated >= max)
		return DEBUGDATA_E_TOO_BIG;
	n = n > max / 2 ? max : 2 * n;
	p = realloc(*data, n);
	if (!p)
		return error_origin(-ENOMEM);
	*data = p;
	*n_allocated = n;
	return DEBUGDATA_E_OK;
}

static int debugdata_decode(lzma_stream *stream, size_t max, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t n_allocated = 0, n = 0;

	for (;;) {
		lzma_ret status;
		int r;

		if (n == n_allocated) {
			r = debugdata_grow(&data, &n_allocated, max);
			if (r)
				return r;
		}
		stream->next_out = data + n;
		stream->avail_out = n_allocated - n;
		status = lzma_code(stream, LZMA_FINISH);
		n = n_allocated - stream->avail_out;
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
