/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_COMMON_FRAME_H
#define PROFD_COMMON_FRAME_H

/*
 * A frame is an address and a kind in one 64-bit word. The kind stands in the top four bits.
 * Canonical addresses stand for themselves: user addresses have them clear, kernel addresses have
 * them set (x86-64 and aarch64 alike), so raw stacks need no translation.
 *
 * Native addresses in a sample are lookup addresses: they lie inside the instruction that was
 * executing or calling (a caller is its return address - 1; what a signal or an interrupt
 * stopped is not shifted). Writers of formats that want return addresses add 1 again.
 */
#include <stdint.h>

enum frame_kind {
	FRAME_USER = 0x0,        /* address in the process */
	FRAME_IMAGE = 0x1,       /* image (bits 59..32) and offset in it (bits 31..0) */
	FRAME_JIT = 0x2,         /* address in generated code that has a name of its own */
	FRAME_INTERPRETER = 0x3, /* a line of an interpreted language */
	FRAME_MARKER = 0x4,      /* no code: a note about the stack */
	FRAME_KERNEL = 0xf,      /* address in the kernel */
};

static inline enum frame_kind frame_kind(uint64_t frame)
{
	return (enum frame_kind)(frame >> 60);
}

#endif
