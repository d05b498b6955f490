/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_PPROF_SPOTS_H
#define PROFD_OUTPUT_PPROF_SPOTS_H

/*
 * The helpers of pprof.c: the set of spots that a profile's samples touch, the mappings that they
 * are laid over, and the locations that come of both.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile.h"
#include "common/profile/profile_table.h"
#include "daemon/output/context.h"
#include "daemon/output/places.h"

/* A spot is one place: an address in one process's mapping, in one kernel image, or nowhere; or a
 * name. */
struct spots {
	struct place *all;
	size_t n, capacity;
	struct profile_table table; /* of their numbers */
	struct profile_hash_key hash_key;
	uint32_t *n_generated; /* by process of the snapshot: what lies in code that it generated */
};

/*
 * For so many of its bytes of texts (context.h), a profile has a spot in the code that one process
 * generated; all that are beyond are one more.
 */
#define BYTES_OF_GENERATED_SPOT 512

/* @s: all zero. */
void spots_init(struct spots *s);
void spots_deinit(struct spots *s);

/*
 * Whether frame @i of @e is a spot: not the native one of an interpreter's loop, which is one with
 * the outermost frame that it runs: there it keeps its address, and has that one's name.
 */
bool spots_has_frame(const struct view_entry *e, uint32_t i);
/* Each finds or adds a spot. Return 0 or negative errno. */
int spots_add_frame(struct spots *s, const struct context *c, const struct view *view,
		    const struct view_entry *e, uint32_t i, uint32_t *ret);
/* A frame that stands for what is not shown; the same pointer is the same name. */
int spots_add_name(struct spots *s, const char *name, uint32_t *ret);
/*
 * All spots, those of one image in a row, and those of one process's generated code in a row;
 * malloc'ed, the caller's.
 */
int spots_by_image(const struct spots *s, uint32_t **ret, size_t *ret_n);
/* The number of spots from @order on (@n) that lie in such a row. */
size_t spots_run_length(const struct spots *s, const uint32_t *order, size_t n);

/* A segment of an image that has become a mapping of the profile. */
struct pprof_segment {
	uint64_t image;  /* id; kernel images: with the top bit set */
	uint64_t offset; /* of the segment in the file; anonymous memory: its address */
	uint64_t length;
	uint64_t start; /* where it lies in the profile */
	uint32_t mapping;
};

struct pprof_mappings {
	struct pprof_segment *segments;
	size_t n_segments, capacity;
	struct profile_table table; /* of their numbers: a process may have 65,000 mappings */
	struct profile_hash_key hash_key;
};

void pprof_mappings_deinit(struct pprof_mappings *m);
/* Adds the mapping that comes first by convention: the program with the most samples. */
int pprof_mappings_main(struct pprof_mappings *m, struct profile *p, const struct context *c,
			const struct view *view, const struct view_group *group);
/* Finds or adds the mapping for @place (PROFILE_NONE for nowhere) and moves *address into it. */
int pprof_mappings_place(struct pprof_mappings *m, struct profile *p, const struct place *place,
			 uint64_t *address, uint32_t *ret);

/*
 * Makes the location of each spot, with names as far as they are wanted and known. *ret: by spot,
 * malloc'ed, the caller's. Says of each mapping in @p what is known of its locations. Returns 0 or
 * negative errno.
 */
int pprof_locate(const struct context *c, enum symbolize symbolize, const struct spots *spots,
		 struct pprof_mappings *mappings, struct profile *p, uint32_t **ret);

/* How many bad images a profile names, all are counted; how many builds, and files' build ids. */
#define PPROF_BAD_MAX    8
#define PPROF_BUILDS_MAX 32
#define PPROF_IDS_MAX    512

/*
 * Comments about the images and files of names that the spots touch, sorted; paths are cleaned and
 * cut, and what is equal then is one:
 *
 *   # profd go build: module=M version=V revision=R modified=true go=G file=PATH
 *       a Go program, with what it says of itself (common/symbols/elf_summary.h)
 *   # profd build id: htlhash=H go=ID gnu=ID file=PATH
 *       what identifies a file besides its build id (common/profile/file_ids.h)
 *   # profd ledger: bad_images=N
 *   # profd bad image: PATH
 *       an image worker died of it, so that it has no names
 *
 * Nothing if there are none. @order (@n) as of spots_by_image(). Call it when names have been asked
 * for. Returns 0 or negative errno.
 */
int pprof_comment_files(const struct spots *spots, const uint32_t *order, size_t n,
			struct profile *p);

#endif
