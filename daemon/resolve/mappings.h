/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MAPPINGS_H
#define PROFD_RESOLVE_MAPPINGS_H

/*
 * The executable mappings of one process over time. Each is valid from one generation to another;
 * the generation rises when a mapping replaces another one at the same address, so that within a
 * generation an address means one thing. (munmap sends no record: what nothing replaced stays.)
 *
 * An overlapping mapping of the same file at the same distance, and anonymous memory over
 * anonymous memory (a JIT that toggles protections), replace nothing and raise nothing.
 *
 * Copy on write: a table that a snapshot refers to is never changed; mappings_add() then works on
 * a copy. References are counted atomically.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/resolve/image.h"

#define GENERATION_OPEN UINT32_MAX

struct mapping {
	uint64_t start, end;  /* addresses in the process */
	uint64_t offset;      /* of start in the file, bytes */
	struct image *image;  /* owned reference */
	uint32_t from, until; /* generations [from, until); GENERATION_OPEN: still valid */
	bool writable;
};

struct mappings;

int mappings_new(struct mappings **ret);
struct mappings *mappings_ref(struct mappings *m);
void mappings_unref(struct mappings *m);
DEFINE_CLEANUP(struct mappings *, mappings_unref)

enum {
	MAPPINGS_E_OK,
	MAPPINGS_E_FULL, /* there are too many already: not added */
};

/*
 * Adds a mapping made at @time_ns, replacing *m by a copy if it is shared. @image is referenced.
 * @full: as if there were too many. What the mapping replaces ends even if it is not kept.
 * What says nothing new costs one look-up. A process chooses how many mappings it has, so their
 * number is bounded. Returns MAPPINGS_E_* or negative errno.
 */
int mappings_add(struct mappings **m, const struct mapping *mapping, uint64_t time_ns, bool full);
/* The generation that was valid at @time_ns. */
uint32_t mappings_generation(const struct mappings *m, uint64_t time_ns);
/* The mapping at @address in @generation, or NULL. Borrowed from @m. */
const struct mapping *mappings_find(const struct mappings *m, uint32_t generation,
				    uint64_t address);
/*
 * All mappings: first those still valid, by start, then those that were replaced. The ones of
 * generation g have from <= g < until.
 */
const struct mapping *mappings_all(const struct mappings *m, size_t *ret_n);
/* The same, of those still valid only. */
const struct mapping *mappings_get_open(const struct mappings *m, size_t *ret_n);
/* Rises with each change; copies go on from where the original was. */
uint32_t mappings_version(const struct mappings *m);
/* Heap memory held, bytes; divided by the number of those who share the table. */
size_t mappings_bytes(const struct mappings *m);
size_t mappings_share_bytes(const struct mappings *m);

#endif
