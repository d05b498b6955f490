/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_BUILD_IDS_H
#define PROFD_SYMBOLIZE_BUILD_IDS_H

/*
 * The build ids of files that processes have mapped, while they run: only of the very file that was
 * mapped, by its device and inode, not of another one that has its path by now. An image worker
 * reads them; where none can be run there are no build ids.
 */
#include <stdint.h>

#include "client/symbolize/object.h"
#include "common/cleanup.h"

struct build_ids;

/*
 * @root_fd: where paths begin; borrowed. @worker_path: as in worker.h. Starts nothing yet. Returns
 * 0 or negative errno.
 */
int build_ids_new(struct build_ids **ret, int root_fd, const char *worker_path);
/* Takes NULL. */
void build_ids_free(struct build_ids *b);
DEFINE_CLEANUP(struct build_ids *, build_ids_free)

/*
 * Of the file at @path with @inode of @device (as struct maps_line has them); "" if that is not
 * there, or has none. Blocks on the disk and the worker. Returns 0 or negative errno.
 */
int build_ids_find(struct build_ids *b, const char *path, uint64_t device, uint64_t inode,
		   char ret[ELF_BUILD_ID_TEXT]);

#endif
