/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNWIND_EH_FRAME_H
#define PROFD_COMMON_UNWIND_EH_FRAME_H

/*
 * Where an image keeps its call frame information: reads .eh_frame, .debug_frame and the list of
 * executable segments out of an ELF file, as the compiler of unwind rules wants them. Knows
 * sections and segments, nothing of what is in the two. By the section headers; where a program was
 * stripped of these, by the segment PT_GNU_EH_FRAME (LSB 5, section 10.6.2), which leads to the
 * beginning of .eh_frame but not to its end.
 *
 * .debug_frame is what compilers write for debuggers in place of .eh_frame, where that is not
 * wanted (gcc -g -fno-asynchronous-unwind-tables, GHC). One that is compressed is not read.
 *
 * Always by copies: what is mapped can be cut short under the reader's feet.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/cfi.h"

/* Of .eh_frame, and of both together: if they are larger, .debug_frame is not read. A browser's has
 * some 20 MiB. Held while it is compiled. */
#define EH_FRAME_BYTES_MAX (32u << 20)

enum {
	EH_FRAME_E_OK,
	EH_FRAME_E_NONE,      /* no 64-bit ELF program or library */
	EH_FRAME_E_MALFORMED, /* headers that contradict themselves or the file's length */
	EH_FRAME_E_TOO_BIG,   /* more than EH_FRAME_BYTES_MAX */
	EH_FRAME_E_UNREADABLE,
};

struct eh_frame {
	/* Points into memory; valid if struct eh_frame is moved. An empty frame: there is none. */
	struct cfi_input input;
	void *memory; /* owned */
};

/*
 * Reads the image at @fd; does not move its offset. Blocks on the disk. Returns EH_FRAME_E_* or
 * -ENOMEM; *ret is written, and to be deinitialized, only when it is EH_FRAME_E_OK.
 */
int eh_frame_read(int fd, struct eh_frame *ret);
/* What cfi_input.read_code asks for, of a file: @fd is its descriptor, borrowed. */
bool eh_frame_read_code(const void *fd, uint32_t offset, void *ret, size_t length);
/* The pure part: the same of an image in memory, such as the vdso. It is copied as well. */
int eh_frame_parse(const uint8_t *data, size_t length, struct eh_frame *ret);
/* Takes a zeroed one as well. */
void eh_frame_deinit(struct eh_frame *frame);

#endif
