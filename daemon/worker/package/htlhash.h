/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_PACKAGE_HTLHASH_H
#define PROFD_WORKER_PACKAGE_HTLHASH_H

/*
 * OpenTelemetry's process.executable.build_id.htlhash (specification, profiles/mappings.md), which
 * any file has, stripped or not: the first 16 bytes of the SHA-256 of the file's first 4096 bytes,
 * its last 4096, and its length as a big-endian number of 64 bits. Of a shorter file both are all
 * of it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/symbols/elf_summary.h"

/* False: it is no file that can be read, or shrinks; *ret is all 0 then. Blocks on the disk. */
bool htlhash_read(int fd, uint8_t ret[ELF_HTLHASH_BYTES]);

#endif
