/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_DEBUG_FILES_H
#define PROFD_COMMON_WORKER_DEBUG_FILES_H

/*
 * Where the debug information of an image lies when it is in a file of its own (gdb's manual,
 * "Debugging Information in Separate Files"; dwz(1)):
 *
 *   debug      /usr/lib/debug/.build-id/ab/cdef.debug, by the image's build id; then the name in
 *              .gnu_debuglink: beside the image, in .debug/ there, and below /usr/lib/debug
 *   alternate  the path in .gnu_debugaltlink: as it is, or from the directory of the file that
 * names it; the same below /usr/lib/debug/.dwz; by its build id
 *
 * These are names that files chose, below a root that somebody else may rule: nothing leads out of
 * that root, and only regular files are opened. Whether one is the right one is for the image
 * worker to say: by build id or, of a debuglink, by CRC.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/protocol.h"

/*
 * "@dir/.build-id/ab/cdef.debug"; false if the build id is too short: one byte names the directory
 * and at least one the file. Pure.
 */
bool debug_files_id_path(const char *dir, const uint8_t *id, size_t length, char ret[PATH_MAX]);
/*
 * The path number @n, in order, for the file at @path in the root of the process that maps it.
 * Pure. Returns 1, 0 if there is none of that number, or -1 if there is no such path for this
 * image, but more may follow.
 */
int debug_files_path(const char *path, const struct worker_image *image, unsigned n,
		     char ret[PATH_MAX]);
int debug_files_alternate_path(const char *path, const struct worker_image *image, unsigned n,
			       char ret[PATH_MAX]);

/*
 * Opens @path below @root_fd: symbolic links and ".." (and mounts, but for @cross_mounts) do not
 * lead out of there, and anything but a regular file is left alone, unopened. Returns the fd or -1.
 * May block as long as the file systems on the way like.
 */
int debug_files_open(int root_fd, bool cross_mounts, const char *path);
/* A name (O_PATH) for whatever is there, in the same way. Async-signal-safe. */
int debug_files_find(int root_fd, bool cross_mounts, const char *path);
/*
 * Its two parts: a name for the regular file (O_PATH), which asks its file system nothing, or -1;
 * and the same file, open, whatever is at the path by then. Async-signal-safe.
 */
int debug_files_open_path(int root_fd, bool cross_mounts, const char *path);
int debug_files_reopen(int named);

/*
 * Which of the files that may hold an image's debug information do. A file counts
 * if it has the image's build id; one without a build id, found by the image's debuglink, if its
 * CRC is the link's, which the worker finds out when it reads it (WORKER_CHECK_CRC). An alternate
 * file counts by the build id that names it. What lies nowhere may be had from elsewhere, by build
 * id.
 *
 * How files are opened, inspected and fetched is the caller's matter.
 */
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
