/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_NAMES_ELF_NAMES_H
#define PROFD_DAEMON_WORKER_NAMES_ELF_NAMES_H

/*
 * All functions of an ELF image that any of its files names, in this order of preference for an
 * address: .symtab of the image, the .symtab of .gnu_debugdata (an xz'ed ELF file in a section),
 * .symtab of the separate debug file, the table of functions of a Go program, .dynsym, the stubs of
 * the PLT (name@plt, from the relocations). Unsized symbols count where no sized one of any table
 * covers. A separate file counts if its build id is the image's or, where it was found by
 * debuglink, its CRC is the link's.
 *
 * Read without trust, within bounds: memory by what the tables hold, decompressed data by
 * ELF_NAMES_DECOMPRESSED_MAX.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/symbols/symtab.h"
#include "common/worker/protocol.h"

#define ELF_NAMES_DECOMPRESSED_MAX (256u << 20)

struct elf_names_files {
	int image, debug; /* read-only fds, borrowed for the call; debug: or -1 */
	bool check_crc;   /* debug was found by debuglink */
};

/*
 * The sources in the table are enum worker_source. Returns enum worker_outcome (the table of an
 * image without names is empty) or negative errno.
 */
int elf_names_new(struct symtab **ret, const struct elf_names_files *files);

/* Fills in everything that protocol.h says of a struct worker_image. Returns enum worker_outcome.
 */
int elf_inspect(int fd, struct worker_image *ret);

/* What a source of names says of one address. Texts are borrowed from the source. */
struct frame_name {
	const char *system_name; /* raw, as in the file; never NULL */
	const char *file;        /* NULL unknown */
	uint32_t line;           /* 0 unknown */
	uint32_t start_line;     /* of the function; 0 unknown */
};

#endif
