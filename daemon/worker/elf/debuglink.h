/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_DEBUGLINK_H
#define PROFD_DAEMON_WORKER_ELF_DEBUGLINK_H

/*
 * How a stripped file names the one with its debug information: .gnu_debuglink, a file name and a
 * CRC-32 of all of that file (GDB's manual, "Separate Debug Files"); and how both name what dwz(1)
 * took out of them: .gnu_debugaltlink, a path and a build id.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/protocol.h"
#include "daemon/worker/elf/elf_image.h"

/* Larger files are not read to the end for a CRC's sake; build ids find those as well. */
#define DEBUGLINK_FILE_MAX (1u << 30)

/*
 * Pure; @data: the section. Fill in what *ret says of it; false, and nothing, where it is not as
 * above. @swap: of another byte order.
 */
bool debuglink_parse(const uint8_t *data, size_t length, bool swap, struct worker_image *ret);
bool debugaltlink_parse(const uint8_t *data, size_t length, struct worker_image *ret);
/* The same of an image. False: it has none that one can use. */
bool debuglink_read(struct elf_image *image, struct worker_image *ret);
bool debugaltlink_read(struct elf_image *image, struct worker_image *ret);
/* The CRC of the file @fd, which is read as a whole. False if that fails or it is too long. */
bool debuglink_crc(int fd, uint32_t *ret);

/*
 * Whether the file @debug is what the debuglink of the ELF file @image says. False too where either
 * cannot be read.
 */
bool debuglink_crc_matches(int image, int debug);

enum {
	DEBUGDATA_E_OK,
	/* Not one xz stream from the first byte to the last; empty; or more than @max bytes. */
	DEBUGDATA_E_MALFORMED,
};

/*
 * .gnu_debugdata: an ELF file with the local functions of a stripped one, under xz (GDB's manual,
 * "MiniDebugInfo"). It takes memory twice for the result, whatever dictionary xz asked for. Pure.
 * *ret: malloc'ed, the caller's. Returns DEBUGDATA_E_* or -ENOMEM.
 */
int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length);

#endif
