/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_PLACES_H
#define PROFD_OUTPUT_PLACES_H

/*
 * From a frame to what lies there: the image and the offset in it, the kernel, a name, or nothing
 * that is known. Kinds of frames (common/frame.h) are rows of a table (places.c); two of them can
 * occur in one stack, and mean the same:
 *
 *   - an address in the process: of the mapping that held it in the entry's generation;
 *   - an image's number and an offset: of the process's mapping of that image which holds the
 *     offset; one of the entry's generation if there is one, else one that was before or after.
 *
 * A frame in an image that the process is not known to have mapped (any more) is nowhere. In the
 * place of an address it then has its own word, which is an address of no process, so that it is
 * still told from others and is taken for nothing else.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/output/code_names.h"
#include "daemon/output/kernel_images.h"
#include "daemon/output/symbols.h"
#include "daemon/output/view.h"

static inline bool mapping_is_valid(const struct mapping *m, uint32_t generation)
{
	return m->from <= generation && generation < m->until;
}

enum place_kind {
	PLACE_NOWHERE, /* no mapping is known there */
	PLACE_IMAGE,
	PLACE_KERNEL,
	PLACE_NAMED, /* no code that has an address: all that is known is the name */
	PLACE_CODE,  /* the same: an interpreter's */
};

/* What lies at a frame. Pointers are borrowed from the snapshot, the view and the kernel images. */
struct place {
	enum place_kind kind;
	uint64_t address;                  /* in the process or the kernel, see above */
	const struct mapping *mapping;     /* PLACE_IMAGE */
	const struct elf_summary *elf;     /* PLACE_IMAGE: headers, or NULL */
	const struct kernel_image *kernel; /* PLACE_KERNEL */
	const char *name;                  /* PLACE_NAMED; the same pointer is the same name */
	/*
	 * PLACE_CODE; and of another kind, where the native frame there is the interpreter's loop
	 * that runs it: that is its name.
	 */
	const struct code_name *code;
	uint32_t line; /* of its instruction; 0 unknown or not wanted */
	/* PLACE_IMAGE: the process, if it generated that code and says how it is called; or NULL */
	const struct snapshot_process *generated;
	uint64_t file_offset; /* PLACE_IMAGE: in the image */
	bool has_vaddr;
	uint64_t vaddr; /* link-time; PLACE_KERNEL: the address itself */
};

/*
 * The place of a user frame of some kind, from PLACE_NOWHERE; a row of places.c. Returns 0 or
 * negative errno.
 */
typedef int frame_placer(struct places *p, const struct view_entry *e, uint64_t frame,
			 struct symbols *symbols, struct place *ret);

/*
 * The place of frame @i of @e, 0 the leaf; PLACE_NOWHERE also where it has none. Returns 0 or
 * negative errno.
 */
int places_frame(struct places *places, const struct view_entry *e, uint32_t i,
		 const struct kernel_images *kernel, struct symbols *symbols, struct place *ret);

#endif
