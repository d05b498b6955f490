/* SPDX-License-Identifier: MIT */
/*
 * Both sections of links are a text with its NUL, followed by a CRC, aligned to four bytes, or a
 * build id.
 */
#include "daemon/worker/elf/debuglink.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/read_end.h"

#define SECTION_MAX 8192 /* bytes; a path, at most, and something behind it */
#define CHUNK_BYTES 65536

/* The length of the text that @data begins with; 0 if it is empty, has no end or does not fit. */
static size_t debuglink_text_length(const uint8_t *data, size_t length)
{
	size_t n = strnlen((const char *)data, length);

	return n < length && n < WORKER_LINK_MAX ? n : 0;
}

bool debuglink_parse(const uint8_t *data, size_t length, bool swap, struct worker_image *ret)
{
	const char *name = (const char *)data;
	size_t n = debuglink_text_length(data, length), at = (n + 4) & ~(size_t)3;

	/* Behind the name and its NUL, at the next multiple of four. */
	if (!n || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    at > length || length - at < sizeof(ret->debuglink_crc))
		return false;
	memcpy(ret->debuglink, name, n + 1);
	memcpy(&ret->debuglink_crc, data + at, sizeof(ret->debuglink_crc));
	if (swap)
		ret->debuglink_crc = __builtin_bswap32(ret->debuglink_crc);
	return true;
}

bool debugaltlink_parse(const uint8_t *data, size_t length, struct worker_image *ret)
{
	size_t n = debuglink_text_length(data, length), id_length = length - n - 1;

	if (!n || id_length > sizeof(ret->alternate_id))
		return false;
	memcpy(ret->alternate, data, n + 1);
	memcpy(ret->alternate_id, data + n + 1, id_length);
	ret->alternate_id_length = (uint32_t)id_length;
	return true;
}

bool debuglink_read(struct elf_image *image, struct worker_image *ret)
{
	Elf_Data *d = elf_image_data(image, elf_image_find(image, SHT_PROGBITS, ".gnu_debuglink"),
				     SECTION_MAX);

	return d && debuglink_parse(d->d_buf, d->d_size, elf_image_swaps(image), ret);
}

bool debugaltlink_read(struct elf_image *image, struct worker_image *ret)
{
	Elf_Data *d = elf_image_data(image,
				     elf_image_find(image, SHT_PROGBITS, ".gnu_debugaltlink"),
				     SECTION_MAX);

	return d && debugaltlink_parse(d->d_buf, d->d_size, ret);
}

bool debuglink_crc(int fd, uint32_t *ret)
{
	uint8_t chunk[CHUNK_BYTES];
	uLong crc = crc32(0, NULL, 0);
	uint64_t at = 0;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size > (off_t)DEBUGLINK_FILE_MAX)
		return false;
	/* It may grow meanwhile. */
	while (at <= DEBUGLINK_FILE_MAX) {
		ssize_t n = read_range(fd, chunk, sizeof(chunk), at);

		if (n < 0)
			return false;
		if (n == 0) {
			*ret = (uint32_t)crc;
			return true;
		}
		crc = crc32(crc, chunk, (uInt)n);
		at += (uint64_t)n;
	}
	return false;
}

bool debuglink_crc_matches(int image, int debug)
{
	cleanup(elf_image_deinit) struct elf_image elf = {0};
	struct worker_image facts;
	uint32_t crc;

	return elf_image_open(&elf, image, SECTION_MAX) == WORKER_DONE &&
	       debuglink_read(&elf, &facts) && debuglink_crc(debug, &crc) &&
	       crc == facts.debuglink_crc;
}

/* xz -9, the hungriest of its presets, needs 65 MiB to unpack. */
#define DECODER_MEMORY_MAX (80u << 20)
#define UNPACKED_GUESS     16u /* times as long, at first */

int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t room = 0, n;
	lzma_ret status;
	void *smaller;

	do {
		uint64_t memory = DECODER_MEMORY_MAX;
		size_t at = 0;

		room = room ? 4 * room : UNPACKED_GUESS * length + 1;
		if (room > max)
			room = max;
		free(data);
		data = malloc(room);
		if (!data)
			return error_origin(-ENOMEM);
		n = 0;
		status = lzma_stream_buffer_decode(&memory, 0, NULL, xz, &at, length, data, &n,
						   room);
	} while (status == LZMA_BUF_ERROR && room < max);
	if (status == LZMA_MEM_ERROR)
		return error_origin(-ENOMEM);
	if (status != LZMA_OK || !n)
		return DEBUGDATA_E_MALFORMED;
	smaller = realloc(data, n);
	if (smaller)
		data = smaller;
	*ret = steal_ptr(&data);
	*ret_length = n;
	return DEBUGDATA_E_OK;
}
