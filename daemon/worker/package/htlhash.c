/* SPDX-License-Identifier: MIT */
#include "daemon/worker/package/htlhash.h"

#include <string.h>
#include <sys/stat.h>

#include <nettle/sha2.h>

#include "common/read_end.h"

#define HTLHASH_PAGE 4096u

/* Adds the @length bytes at @offset. */
static bool htlhash_add(struct sha256_ctx *hash, int fd, uint64_t offset, size_t length)
{
	uint8_t page[HTLHASH_PAGE];

	if (read_range(fd, page, length, offset) != (ssize_t)length)
		return false;
	sha256_update(hash, length, page);
	return true;
}

bool htlhash_read(int fd, uint8_t ret[ELF_HTLHASH_BYTES])
{
	uint8_t length[8];
	struct sha256_ctx hash;
	struct stat st;
	uint64_t size;
	size_t page;

	memset(ret, 0, ELF_HTLHASH_BYTES);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	size = (uint64_t)st.st_size;
	page = size < HTLHASH_PAGE ? (size_t)size : HTLHASH_PAGE;
	for (unsigned i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(size >> (8 * (sizeof(length) - 1 - i)));
	sha256_init(&hash);
	if (!htlhash_add(&hash, fd, 0, page) || !htlhash_add(&hash, fd, size - page, page))
		return false;
	sha256_update(&hash, sizeof(length), length);
	sha256_digest(&hash, ELF_HTLHASH_BYTES, ret);
	return true;
}
