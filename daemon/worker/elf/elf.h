/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_ELF_H
#define PROFD_DAEMON_WORKER_ELF_ELF_H

/*
 * Reads the summary of an ELF file with a few bounded pread(2)s; works for 32- and 64-bit files of
 * both byte orders.
 */
#include "common/symbols/elf_summary.h"
#include "common/worker/protocol.h"

/*
 * Returns WORKER_DONE, _NOT_ELF, _MALFORMED (also: more than ELF_SUMMARY_SEGMENTS_MAX loadable
 * segments) or _UNREADABLE. Does not move @fd's offset. Blocks on the disk.
 */
int elf_summary_read(int fd, struct elf_summary *ret);
/*
 * The pure part: the same from the first @length bytes of a file. Where headers or notes lie past
 * @length, WORKER_MALFORMED.
 */
int elf_summary_parse(const uint8_t *data, size_t length, struct elf_summary *ret);

/*
 * How many sections the file says it has, which is @fd, or, if that is -1, @length bytes at @data.
 * False: its header is not one of an ELF file.
 */
bool elf_count_sections(int fd, const uint8_t *data, size_t length, uint64_t *ret);

#endif
