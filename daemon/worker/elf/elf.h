/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_ELF_H
#define PROFD_DAEMON_WORKER_ELF_ELF_H

/*
 * Reads the summary of an ELF file with a few bounded pread(2)s; works for 32- and 64-bit files of
 * both byte orders.
 */
#include "common/symbols/elf_summary.h"

enum {
	ELF_SUMMARY_E_OK,
	ELF_SUMMARY_E_NOT_ELF,
	ELF_SUMMARY_E_MALFORMED,  /* also: more than ELF_SUMMARY_SEGMENTS_MAX loadable segments */
	ELF_SUMMARY_E_UNREADABLE, /* reading failed */
};

/* Returns ELF_SUMMARY_E_*. Does not move @fd's offset. Blocks on the disk. */
int elf_summary_read(int fd, struct elf_summary *ret);
/*
 * The pure part: the same from the first @length bytes of a file. Where headers or notes lie past
 * @length, ELF_SUMMARY_E_MALFORMED.
 */
int elf_summary_parse(const uint8_t *data, size_t length, struct elf_summary *ret);

#endif
