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

#define INDEX_MEMORY_MAX (UINT64_C(1) << 20)

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

/* What a stream of xz holds, by its index, which is at its end; the .xz file format 1.2.1. */
static lzma_index *debugdata_index(const uint8_t *xz, size_t length, lzma_stream_flags *ret_flags,
				   lzma_ret *ret_status)
{
	uint64_t memory = INDEX_MEMORY_MAX;
	lzma_index *index = NULL;
	lzma_stream_flags footer;
	size_t at, end;

	*ret_status = LZMA_DATA_ERROR;
	if (length < 2 * LZMA_STREAM_HEADER_SIZE ||
	    lzma_stream_header_decode(ret_flags, xz) != LZMA_OK ||
	    lzma_stream_footer_decode(&footer, xz + length - LZMA_STREAM_HEADER_SIZE) != LZMA_OK ||
	    lzma_stream_flags_compare(ret_flags, &footer) != LZMA_OK ||
	    footer.backward_size > length - 2 * LZMA_STREAM_HEADER_SIZE)
		return NULL;
	end = length - LZMA_STREAM_HEADER_SIZE;
	at = end - (size_t)footer.backward_size;
	*ret_status = lzma_index_buffer_decode(&index, &memory, NULL, xz, &at, end);
	if (*ret_status == LZMA_OK && lzma_index_file_size(index) != length) {
		*ret_status = LZMA_DATA_ERROR;
		lzma_index_end(index, NULL);
		index = NULL;
	}
	return index;
}

/*
 * Distances do not lead to before the block's first byte: a dictionary as long as the block is as
 * good as the one of 64 MiB that xz -9 asks for, whatever it packs.
 */
static void debugdata_bound_dictionaries(lzma_filter *filters, uint64_t block_bytes)
{
	for (size_t i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++) {
		lzma_options_lzma *options = filters[i].options;

		if (filters[i].id == LZMA_FILTER_LZMA2 && options->dict_size > block_bytes)
			options->dict_size = block_bytes < LZMA_DICT_SIZE_MIN
						     ? LZMA_DICT_SIZE_MIN
						     : (uint32_t)block_bytes;
	}
}

/* Unpacks the block that @at is at into its place in @data. */
static lzma_ret debugdata_unpack_block(const uint8_t *xz, const lzma_index_iter *at,
				       lzma_check check, uint8_t *data)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1] = {{.id = LZMA_VLI_UNKNOWN}};
	size_t from = (size_t)at->block.compressed_file_offset, to = 0;
	lzma_block block = {.version = 1, .check = check, .filters = filters};
	lzma_ret status;

	block.header_size = lzma_block_header_size_decode(xz[from]);
	/* The index has it: header, data and check. */
	if (!xz[from] || block.header_size > at->block.unpadded_size)
		return LZMA_DATA_ERROR;
	status = lzma_block_header_decode(&block, NULL, xz + from);
	if (status != LZMA_OK)
		return status;
	status = lzma_block_compressed_size(&block, at->block.unpadded_size);
	if (status == LZMA_OK) {
		debugdata_bound_dictionaries(filters, at->block.uncompressed_size);
		from += block.header_size;
		status = lzma_block_buffer_decode(&block, NULL, xz, &from,
						  (size_t)(at->block.compressed_file_offset +
							   at->block.total_size),
						  data + at->block.uncompressed_file_offset, &to,
						  (size_t)at->block.uncompressed_size);
	}
	for (size_t i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++)
		free(filters[i].options);
	return status == LZMA_OK && to != at->block.uncompressed_size ? LZMA_DATA_ERROR : status;
}

int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	lzma_stream_flags flags;
	lzma_index_iter at;
	lzma_ret status;
	lzma_index *index = debugdata_index(xz, length, &flags, &status);
	uint64_t n = index ? lzma_index_uncompressed_size(index) : 0;

	if (n && n <= max) {
		data = malloc((size_t)n);
		status = data ? LZMA_OK : LZMA_MEM_ERROR;
		lzma_index_iter_init(&at, index);
		while (status == LZMA_OK && !lzma_index_iter_next(&at, LZMA_INDEX_ITER_BLOCK))
			status = debugdata_unpack_block(xz, &at, flags.check, data);
	} else if (index) {
		status = LZMA_DATA_ERROR;
	}
	lzma_index_end(index, NULL);
	if (status == LZMA_MEM_ERROR)
		return error_origin(-ENOMEM);
	if (status != LZMA_OK)
		return DEBUGDATA_E_MALFORMED;
	*ret = steal_ptr(&data);
	*ret_length = (size_t)n;
	return DEBUGDATA_E_OK;
}
