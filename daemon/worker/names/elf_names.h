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
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/symbols/symtab.h"
#include "common/worker/protocol.h"

#define ELF_NAMES_DECOMPRESSED_MAX (256u << 20)
#define NAMES_MERGE_SOURCES        8

struct elf_names;

struct elf_names_files {
	int image, debug; /* read-only fds, borrowed for the call; debug: or -1 */
	bool check_crc;   /* debug was found by debuglink */
};

/* Returns enum worker_outcome (an image without names is DONE and finds nothing) or -ENOMEM. */
int elf_names_new(struct elf_names **ret, const struct elf_names_files *files);
void elf_names_free(struct elf_names *n);
DEFINE_CLEANUP(struct elf_names *, elf_names_free)
/* Memory held, bytes. */
size_t elf_names_bytes(const struct elf_names *n);

struct elf_name {
	const char *name; /* raw, borrowed */
	/*
	 * Its part around the address, in bytes: all of these addresses have this answer. That is
	 * the whole function, but where others lie inside of it.
	 */
	uint64_t start, size;
	enum worker_source source;
};

/*
 * The function at the link-time address @address. False: none; then *ret has the range around
 * @address in which there is none (at least the address itself).
 */
bool elf_names_find(const struct elf_names *n, uint64_t address, struct elf_name *ret);

/* Fills in everything that protocol.h says of a struct worker_image. Returns enum worker_outcome.
 */
int elf_inspect(int fd, struct worker_image *ret);

/*
 * One answer for each address, from several tables of symbols of which the earlier are preferred.
 * Within one, common/symbols/symtab.h says who wins; a sized symbol of a later table counts where
 * no sized one of an earlier table covers, and unsized ones where no sized one covers at all. They
 * reach up to the next symbol of any table.
 *
 * Pure. Sorts, and takes memory for at most two pieces a symbol: nothing is nested in the result.
 *
 * @list: all tables in one, told apart by `source`, the lowest preferred; it is sorted. @ret: for
 * each source its pieces, by address, disjoint in and between sources; names are those of @list;
 * zeroed before the call, and to be deinitialized by the caller whatever is returned. Returns 0 or
 * -ENOMEM.
 */
int names_merge(struct symtab_entries *list, struct symtab_entries ret[NAMES_MERGE_SOURCES]);

/* What a source of names says of one address. Texts are borrowed from the source. */
struct frame_name {
	const char *system_name; /* raw, as in the file; never NULL */
	const char *file;        /* NULL unknown */
	uint32_t line;           /* 0 unknown */
	uint32_t start_line;     /* of the function; 0 unknown */
};

#endif
