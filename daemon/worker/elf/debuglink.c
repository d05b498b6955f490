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

/* The text that @data begins with. False if it is empty, has no end or does not fit. */
static bool debuglink_copy_text(const uint8_t *data, size_t length, char ret[WORKER_LINK_MAX],
				size_t *ret_length)
{
	size_t n = strnlen((const char *)data, length);

	if (n == 0 || n == length || n >= WORKER_LINK_MAX)
		return false;
	memcpy(ret, data, n + 1);
	*ret_length = n;
	return true;
}

bool debuglink_parse(const uint8_t *data, size_t length, bool swap, struct debuglink *ret)
{
	struct debuglink link = {0};
	size_t n;

	if (!debuglink_copy_text(data, length, link.name, &n) || strchr(link.name, '/') ||
	    strcmp(link.name, ".") == 0 || strcmp(link.name, "..") == 0)
		return false;
	n = (n + 4) & ~(size_t)3; /* with its NUL, to the next multiple of four */
	if (n > length || length - n < sizeof(link.crc))
		return false;
	memcpy(&link.crc, data + n, sizeof(link.crc));
	if (swap)
		link.crc = __builtin_bswap32(link.crc);
	*ret = link;
	return true;
}

bool debugaltlink_parse(const uint8_t *data, size_t length, struct debugaltlink *ret)
{
	struct debugaltlink link = {0};
	size_t n;

	if (!debuglink_copy_text(data, length, link.path, &n))
		return false;
	n++;
	if (length - n > sizeof(link.id))
		return false;
	link.id_length = (uint32_t)(length - n);
	memcpy(link.id, data + n, link.id_length);
	*ret = link;
	return true;
}

bool debuglink_read(struct elf_image *image, struct debuglink *ret)
{
	Elf_Data *d = elf_image_data(image, elf_image_find(image, SHT_PROGBITS, ".gnu_debuglink"),
				     SECTION_MAX);

	return d && debuglink_parse(d->d_buf, d->d_size, elf_image_swaps(image), ret);
}

bool debugaltlink_read(struct elf_image *image, struct debugaltlink *ret)
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
	struct debuglink link;
	uint32_t crc;

	return elf_image_open(&elf, image, SECTION_MAX) == WORKER_DONE &&
	       debuglink_read(&elf, &link) && debuglink_crc(debug, &crc) && crc == link.crc;
}

/* xz -9, the hungriest of its presets, needs 65 MiB to unpack. */
#define DECODER_MEMORY_MAX (80u << 20)

int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length)
{
	/* What is not needed of it is never touched, and given back. */
	cleanup(freep) uint8_t *data = malloc(max);
	uint64_t memory = DECODER_MEMORY_MAX;
	size_t at = 0, n = 0;
	lzma_ret status;
	void *smaller;

	if (!data)
		return error_origin(-ENOMEM);
	status = lzma_stream_buffer_decode(&memory, 0, NULL, xz, &at, length, data, &n, max);
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
