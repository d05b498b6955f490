/* SPDX-License-Identifier: MIT */
#include "common/profile/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"

/* Deflate cannot shrink data to less than this part (zlib's technical notes). */
#define DEFLATE_RATIO_MAX 1032

struct gunzip {
	z_stream z;
	const uint8_t *data;
	size_t length, at;
	uint8_t *out;
	size_t out_length, out_size, max_bytes;
};

static void gunzip_deinit(struct gunzip *g)
{
	inflateEnd(&g->z);
	free(g->out);
}

bool gunzip_is_gzip(const uint8_t *data, size_t length)
{
	return length >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/*
 * The last four bytes of a member are its size modulo 2^32: when they can be true, they spare the
 * growing. They are as hostile as the rest, so they are believed only up to what the input could
 * hold.
 */
static size_t first_size(const uint8_t *data, size_t length, size_t max_bytes)
{
	size_t size = 4096;

	if (length >= 18)
		size = (size_t)data[length - 4] | (size_t)data[length - 3] << 8 |
		       (size_t)data[length - 2] << 16 | (size_t)data[length - 1] << 24;
	if (size / DEFLATE_RATIO_MAX > length || size < 4096)
		size = 4096;
	return size < max_bytes ? size : max_bytes;
}

static int gunzip_make_room(struct gunzip *g)
{
	size_t size = g->out_size > g->max_bytes / 2 ? g->max_bytes : g->out_size * 2;
	uint8_t *grown;

	if (g->out_length < g->out_size)
		return 0;
	grown = realloc(g->out, size);
	if (!grown)
		return error_origin(-ENOMEM);
	g->out = grown;
	g->out_size = size;
	return 0;
}

/*
 * One call of inflate(). With the output at its limit, one byte of room on the side tells data
 * that ends there from data that goes on.
 */
static int gunzip_step(struct gunzip *g, bool *ret_end)
{
	bool full = g->out_length == g->max_bytes;
	size_t room, feed = g->length - g->at;
	uint8_t beyond;
	int r;

	if (!full) {
		r = gunzip_make_room(g);
		if (r)
			return r;
	}
	room = full ? 1 : g->out_size - g->out_length;
	g->z.next_out = full ? &beyond : g->out + g->out_length;
	g->z.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
	room = g->z.avail_out;
	g->z.next_in = (z_const Bytef *)(uintptr_t)(g->data + g->at);
	g->z.avail_in = feed < UINT32_MAX ? (uInt)feed : UINT32_MAX;
	feed = g->z.avail_in;
	r = inflate(&g->z, Z_NO_FLUSH);
	g->at += feed - g->z.avail_in;
	room -= g->z.avail_out;
	if (full && room)
		return GUNZIP_E_TOO_BIG;
	g->out_length += room;
	if (r == Z_MEM_ERROR)
		return error_origin(-ENOMEM);
	if (r != Z_OK && r != Z_STREAM_END)
		return GUNZIP_E_MALFORMED;
	*ret_end = r == Z_STREAM_END;
	return GUNZIP_E_OK;
}

static int gunzip_run(struct gunzip *g)
{
	bool end;
	int r;

	for (;;) {
		r = gunzip_step(g, &end);
		if (r)
			return r;
		if (!end)
			continue;
		if (g->at == g->length)
			return GUNZIP_E_OK;
		if (!gunzip_is_gzip(g->data + g->at, g->length - g->at))
			return GUNZIP_E_MALFORMED;
		inflateReset(&g->z);
	}
}

int gunzip_buffer(const uint8_t *data, size_t length, size_t max_bytes, uint8_t **ret,
		  size_t *ret_length, size_t *ret_offset)
{
	cleanup(gunzip_deinit) struct gunzip g = {.data = data,
						  .length = length,
						  .max_bytes = max_bytes ? max_bytes : 1};
	int r;

	g.out_size = first_size(data, length, g.max_bytes);
	g.out = malloc(g.out_size);
	/* 15 bits of window; 16 asks for gzip's framing instead of zlib's. */
	if (!g.out || inflateInit2(&g.z, 15 + 16) != Z_OK)
		return error_origin(-ENOMEM);
	r = gunzip_run(&g);
	if (r == GUNZIP_E_MALFORMED)
		*ret_offset = g.at;
	if (r)
		return r;
	*ret = steal_ptr(&g.out);
	*ret_length = g.out_length;
	return GUNZIP_E_OK;
}
