/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_CODE_OBJECTS_H
#define PROFD_CLIENT_CODE_OBJECTS_H

/*
 * The programs and libraries of a profile on this host, for views that show code: each opened once,
 * by the image worker, if it is the one that was mapped.
 */
#include <stdint.h>
#include <uthash.h>

#include "client/symbolize/files.h"
#include "client/symbolize/object.h"
#include "common/profile/profile.h"

struct objects;

/* Those of @p, which is borrowed and keeps its mappings. Opens nothing yet. 0 or negative errno. */
int objects_new(struct objects **ret, const struct profile *p);
void objects_free(struct objects *o);
DEFINE_CLEANUP(struct objects *, objects_free)
/* For whoever opens other files. */
const struct files *objects_files(const struct objects *o);

/* One file. */
struct objects_file {
	UT_hash_handle hh;
	struct objects_file_id {
		uint32_t path, build_id; /* strings of the profile */
	} id;
	bool is_usable;
	struct object object;
};

/*
 * The file of @mapping. *ret NULL: not to be had; objects_notes() say why. Blocks on the disk and
 * the worker. Returns 0 or negative errno.
 */
int objects_get(struct objects *o, uint32_t mapping, struct objects_file **ret);
/* Of files that were not to be had, why. */
const struct notes *objects_notes(const struct objects *o);
/*
 * The mapping of the path @path (a string of the profile) around @address, or PROFILE_NONE; of
 * several, as different processes have them, the one that begins last.
 */
uint32_t objects_mapping(const struct objects *o, uint32_t path, uint64_t address);

#endif
