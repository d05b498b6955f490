/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_DEBUG_CHOICE_H
#define PROFD_COMMON_WORKER_DEBUG_CHOICE_H

/*
 * Which of the files that may hold an image's debug information (debug_files.h) do. A file counts
 * if it has the image's build id; one without a build id, found by the image's debuglink, if its
 * CRC is the link's, which the worker finds out when it reads it (WORKER_CHECK_CRC). An alternate
 * file counts by the build id that names it. What lies nowhere may be had from elsewhere, by build
 * id.
 *
 * How files are opened, inspected and fetched is the caller's matter.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"

struct debug_choice {
	int debug, alternate; /* read-only, the owner's; -1: none */
	bool check_crc;       /* debug counts only if WORKER_CHECK_CRC says so */
};

struct debug_choice_world {
	void *context; /* of all of them */
	/* A regular file by its path: the fd, or -1. */
	int (*open)(void *context, const char *path);
	/*
	 * WORKER_INSPECT of @fd; *ret is written if *ret_outcome is WORKER_DONE. What it returns
	 * other than 0 ends the choice.
	 */
	int (*inspect)(void *context, int fd, struct worker_image *ret,
		       enum worker_outcome *ret_outcome);
	/* The debug file of a build id from elsewhere: the fd, or -1. NULL: there is no elsewhere.
	 */
	int (*fetch)(void *context, const uint8_t *id, size_t length);
};

/*
 * The files that help to answer questions about @image, which is @path, for its functions or
 * (@want_lines) also its lines; none are looked for where the image itself has all. Returns 0, or
 * what world->inspect() returned; *ret, which the caller has to close, is written in any case.
 */
int debug_choice_make(const struct debug_choice_world *world, const char *path,
		      const struct worker_image *image, bool want_lines, struct debug_choice *ret);
/* Takes one that is closed. */
void debug_choice_close(struct debug_choice *choice);

#endif
