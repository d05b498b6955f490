/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_HOSTILE_ELF_PACKED_H
#define PROFD_TESTS_HOSTILE_ELF_PACKED_H

/* Hostile files that are about compression: sections under zlib, and .gnu_debugdata under xz. */
#include <lzma.h>
#include <zlib.h>

#include "tests/support/hostile_elf_builder.h"

/* Makes .symtab (2) or .strtab (3) a compressed section: @length bytes, of which @claim are made.
 */
static inline void hostile_compressed(struct builder *b, unsigned section, uint64_t claim,
				      const void *data, size_t length)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = claim, .ch_addralign = 1};
	uint8_t *all = malloc(sizeof(header) + length);
	size_t at = builder_room(b, sizeof(header) + length);

	if (!all)
		abort();
	memcpy(all, &header, sizeof(header));
	memcpy(all + sizeof(header), data, length);
	memcpy(b->data + at, all, sizeof(header) + length);
	b->sections[section].sh_offset = at;
	b->sections[section].sh_size = sizeof(header) + length;
	b->sections[section].sh_flags |= SHF_COMPRESSED;
	free(all);
}

/* Compresses @first and zeros, @n_chunks of 64 KiB together; the caller's. */
static inline uint8_t *hostile_zeros(const void *first, size_t n_first, size_t n_chunks,
				     size_t *ret_length)
{
	uint8_t chunk[65536] = {0};
	size_t room = n_chunks * sizeof(chunk) / 150 + 1024;
	uint8_t *data = malloc(room);
	z_stream z = {0};

	if (!data || n_first > sizeof(chunk) || deflateInit(&z, 1) != Z_OK)
		abort();
	z.next_out = data;
	z.avail_out = (uInt)room;
	memcpy(chunk, first, n_first);
	for (size_t i = 1; i <= n_chunks; i++) {
		z.next_in = chunk;
		z.avail_in = sizeof(chunk);
		if (deflate(&z, i < n_chunks ? Z_NO_FLUSH : Z_FINISH) < 0 || z.avail_in > 0)
			abort();
		if (i == 1)
			memset(chunk, 0, n_first);
	}
	*ret_length = z.total_out;
	deflateEnd(&z);
	return data;
}

static inline void hostile_claims_tera(struct builder *b)
{
	uint8_t few[64] = {0x78, 0x01};

	hostile_base(b);
	hostile_compressed(b, 2, HOSTILE_TERA, few, sizeof(few));
	hostile_compressed(b, 3, UINT64_MAX, few, sizeof(few));
	builder_finish(b);
}

static inline void hostile_compressed_garbage(struct builder *b)
{
	uint8_t garbage[5000];

	memset(garbage, 0x5a, sizeof(garbage));
	hostile_base(b);
	hostile_compressed(b, 2, 1u << 20, garbage, sizeof(garbage));
	builder_finish(b);
}

/* .strtab with all names that it should have, and then zeros up to @size. */
static inline void hostile_zip_bomb_of(struct builder *b, size_t size)
{
	size_t length;
	uint8_t *data;

	hostile_base(b);
	data = hostile_zeros(builder_at(b, 3), b->sections[3].sh_size, size / 65536, &length);
	hostile_compressed(b, 3, size, data, length);
	builder_finish(b);
	free(data);
}

static inline void hostile_zip_bomb(struct builder *b)
{
	hostile_zip_bomb_of(b, HOSTILE_BOMB);
}

static inline void hostile_zip_bomb_within(struct builder *b)
{
	hostile_zip_bomb_of(b, HOSTILE_BOMB / 3);
}

/* xz of @length bytes of @data, @times; the caller's. */
static inline uint8_t *hostile_xz(const void *data, size_t length, size_t times, size_t *ret_length)
{
	size_t room = length * times / 150 + length + 65536;
	uint8_t *out = malloc(room);
	lzma_stream s = LZMA_STREAM_INIT;

	if (!out || lzma_easy_encoder(&s, 0, LZMA_CHECK_NONE) != LZMA_OK)
		abort();
	s.next_out = out;
	s.avail_out = room;
	for (size_t i = 0; i < times; i++) {
		s.next_in = data;
		s.avail_in = length;
		while (s.avail_in > 0)
			if (lzma_code(&s, LZMA_RUN) != LZMA_OK)
				abort();
	}
	while (lzma_code(&s, LZMA_FINISH) == LZMA_OK)
		;
	*ret_length = s.total_out;
	lzma_end(&s);
	return out;
}

static inline void hostile_debugdata(struct builder *b, const uint8_t *xz, size_t length)
{
	builder_section(b, ".gnu_debugdata", &(Elf64_Shdr){.sh_type = SHT_PROGBITS}, xz, length);
	builder_finish(b);
}

static inline void hostile_xz_bomb(struct builder *b)
{
	static const uint8_t zeros[1 << 20];
	size_t length;
	uint8_t *xz = hostile_xz(zeros, sizeof(zeros), HOSTILE_BOMB / sizeof(zeros), &length);

	hostile_base(b);
	hostile_debugdata(b, xz, length);
	free(xz);
}

static inline void hostile_xz_cut(struct builder *b)
{
	size_t length;
	uint8_t *xz = hostile_xz(hostile_functions, sizeof(hostile_functions), 1, &length);

	hostile_base(b);
	hostile_debugdata(b, xz, length / 2);
	free(xz);
}

/* Wants 4 GiB for its dictionary: a byte in the block's header (xz-file-format.txt, 3.1, 5.3.1). */
static inline void hostile_xz_dictionary(struct builder *b)
{
	size_t length;
	uint8_t *xz = hostile_xz(hostile_functions, sizeof(hostile_functions), 1, &length);
	size_t header_size = (xz[12] + 1u) * 4;
	uint32_t crc;

	xz[16] = 40;
	crc = lzma_crc32(xz + 12, header_size - 4, 0);
	memcpy(xz + 12 + header_size - 4, &crc, sizeof(crc));
	hostile_base(b);
	hostile_debugdata(b, xz, length);
	free(xz);
}

/* .gnu_debugdata with a file that has a .gnu_debugdata with a file ... */
static inline void hostile_xz_in_xz(struct builder *b)
{
	uint8_t *xz = NULL;
	size_t length = 0;

	for (unsigned i = 0; i < 20; i++) {
		uint8_t *outer;

		hostile_base(b);
		hostile_debugdata(b, xz, length);
		if (i == 19)
			break;
		outer = hostile_xz(b->data, b->n, 1, &length);
		free(xz);
		xz = outer;
		builder_deinit(b);
	}
	free(xz);
}

#endif
