/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_DWARF_DWARF_LINES_H
#define PROFD_DAEMON_WORKER_DWARF_DWARF_LINES_H

/*
 * Source lines and inlined functions of an address, from the DWARF of an image (DWARF 5, chapters
 * 2, 3.3.8 and 6.2), through libdw, which also knows versions 2 to 4, compressed sections and dwz's
 * alternate files. Read without trust: chains of references have bounds.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/elf_names.h"

struct dwarf_lines;

struct dwarf_lines_files {
	/* Read-only fds; debug, alternate: or -1; borrowed for the call. */
	int image, debug, alternate;
	uint64_t memory_bytes; /* as of dwarf_lines_allow() */
};

/*
 * Takes the debug file's DWARF if there is one, else the image's; of an image with neither, it
 * finds nothing. An alternate that is not the one which that file names (by build id) is left out.
 * WORKER_* outcome or -ENOMEM.
 */
int dwarf_lines_new(struct dwarf_lines **ret, const struct dwarf_lines_files *files);
void dwarf_lines_free(struct dwarf_lines *d);
/* From now on it may use @memory_bytes of memory, all together: what takes more is left out. */
void dwarf_lines_allow(struct dwarf_lines *d, uint64_t memory_bytes);
DEFINE_CLEANUP(struct dwarf_lines *, dwarf_lines_free)
/* What it holds by now, bytes, roughly: for a bound on what is kept. */
size_t dwarf_lines_bytes(const struct dwarf_lines *d);

/*
 * The frames of the link-time address @address, innermost first: each inlined function with the
 * line within it, last the function itself. Linkage names where there are such, else plain ones;
 * files with their directory, as the compiler was told. Returns their number, at most @max (of
 * more, the innermost are given and the outermost one last); 0: the DWARF does not know. Texts live
 * as long as @d. *ret_start, *ret_size: the function's range that holds @address.
 *
 * Where the DWARF knows a line but no function, as of assembly, there is one frame whose
 * system_name is "", and the range is @address alone.
 */
size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t address, struct frame_name *ret, size_t max,
			uint64_t *ret_start, uint64_t *ret_size);

#endif
