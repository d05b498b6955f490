/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_NAMES_FRAME_FUNCTIONS_H
#define PROFD_DAEMON_WORKER_NAMES_FRAME_FUNCTIONS_H

/*
 * Where the functions of an image are, by its .eh_frame: programs that were stripped of their
 * symbols still have it. 16 bytes a function; while it is made, .eh_frame (eh_frame.h has its
 * bound) and 32 bytes more for each.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct frame_functions;

/*
 * Of the image at @fd, read without trust; none where it has no .eh_frame, a damaged one, or one
 * that takes more memory than there is. Blocks on the disk. Returns 0, or -ENOMEM: not even that.
 */
int frame_functions_new(struct frame_functions **ret, int fd);
void frame_functions_free(struct frame_functions *f);
DEFINE_CLEANUP(struct frame_functions *, frame_functions_free)

/*
 * The function that has @address (link-time), from *ret_start to before *ret_end. False: there is
 * none in that range; UINT64_MAX ends the last one.
 */
bool frame_functions_find(const struct frame_functions *f, uint64_t address, uint64_t *ret_start,
			  uint64_t *ret_end);
/* Memory held, bytes. */
size_t frame_functions_bytes(const struct frame_functions *f);

#endif
