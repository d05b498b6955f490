/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_FRAME_H
#define PROFD_COMMON_FRAME_H

/*
 * A frame is an address and a kind in one 64-bit word. The kind is in the top four bits.
 * Canonical addresses are frames as they are: user addresses have them clear, kernel addresses have
 * them set (x86-64 and aarch64 alike), so raw stacks need no translation.
 *
 * Native addresses in a sample are lookup addresses: they lie inside the instruction that was
 * executing or calling (a caller is its return address - 1; what a signal or an interrupt
 * stopped is not shifted). Writers of formats that want return addresses add 1 again.
 */
#include <stdint.h>

enum frame_kind {
	FRAME_USER = 0x0,    /* address in the process */
	FRAME_IMAGE = 0x1,   /* image's number (bits 59..32), offset in its file (31..0) */
	FRAME_RUNTIME = 0x2, /* an interpreter's: number of its code, offset in it; see below */
	FRAME_KERNEL = 0xf,  /* address in the kernel */
};

#define FRAME_KINDS 16 /* as many as there could be */

static inline enum frame_kind frame_kind(uint64_t frame)
{
	return (enum frame_kind)(frame >> 60);
}

/* Image numbers are 1 .. FRAME_IMAGES_MAX; 0 is no image. */
#define FRAME_IMAGES_MAX ((1u << 28) - 1)

static inline uint64_t frame_in_image(uint32_t image, uint32_t offset)
{
	return (uint64_t)FRAME_IMAGE << 60 | (uint64_t)image << 32 | offset;
}

static inline uint32_t frame_image(uint64_t frame)
{
	return (uint32_t)(frame >> 32) & FRAME_IMAGES_MAX;
}

static inline uint32_t frame_offset(uint64_t frame)
{
	return (uint32_t)frame;
}

/*
 * An interpreter's frame: FRAME_RUNTIME_LOOP (bit 59), the number of the code (daemon/ingest's
 * code_book.h; bits 55..24), and how far the instruction is from the first one, in bytes (23..0;
 * those beyond are the last). With the bit the next frame, rootwards, is the native one of the
 * interpreter's own loop that runs this one and the interpreter's frames before it.
 */
#define FRAME_RUNTIME_LOOP       (UINT64_C(1) << 59)
#define FRAME_RUNTIME_OFFSET_MAX ((1u << 24) - 1)

static inline uint64_t frame_in_runtime(uint32_t code, uint32_t offset)
{
	if (offset > FRAME_RUNTIME_OFFSET_MAX)
		offset = FRAME_RUNTIME_OFFSET_MAX;
	return (uint64_t)FRAME_RUNTIME << 60 | (uint64_t)code << 24 | offset;
}

static inline uint32_t frame_code(uint64_t frame)
{
	return (uint32_t)(frame >> 24);
}

static inline uint32_t frame_code_offset(uint64_t frame)
{
	return (uint32_t)frame & FRAME_RUNTIME_OFFSET_MAX;
}

#endif
