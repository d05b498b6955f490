/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_CODE_CODE_H
#define PROFD_DAEMON_WORKER_CODE_CODE_H

/* The bytes of an ELF file's code, by link-time address. */
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/elf_summary.h"

/*
 * Reads the bytes at [address, address + max) as far as the segment that holds @address has them in
 * the file, an executable one if several do. Returns how many; 0 where there are none.
 */
size_t code_read(int fd, const struct elf_summary *elf, uint64_t address, uint8_t *ret, size_t max);

#endif
