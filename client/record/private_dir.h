/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RECORD_PRIVATE_DIR_H
#define PROFD_RECORD_PRIVATE_DIR_H

/*
 * A directory that only we may enter, below $TMPDIR or /tmp, for as long as we live. A keeper, a
 * process that does nothing but wait for our end, however that comes, removes it then. It may run a
 * program, which it ends first. Terminals' signals reach neither of them.
 */
#include "common/cleanup.h"

#define PRIVATE_DIR_SIZE 64 /* of its path */

struct private_dir;

struct private_program {
	const char *path;
	const char *const *argv; /* up to NULL */
};

/*
 * Makes profd-NAME-XXXXXX. It is removed by private_dir_free(); from private_dir_keep() on also if
 * that is never called. Returns 0 or negative errno.
 */
int private_dir_new(struct private_dir **ret, const char *name);
/*
 * Starts the keeper, and, by it, @program (NULL: none), which writes to the file `log` in it. No
 * signal's handler may be set, nor may there be threads. Returns 0 or negative errno.
 */
int private_dir_keep(struct private_dir *d, const struct private_program *program);
/* Ends the program, and waits until nothing is left of it. Takes NULL. */
void private_dir_free(struct private_dir *d);
DEFINE_CLEANUP(struct private_dir *, private_dir_free)

const char *private_dir_path(const struct private_dir *d);
/* Readable when the program has ended; once there is a keeper. */
int private_dir_life(const struct private_dir *d);
/* Opens a file in it. A descriptor, or -1 with errno. */
int private_dir_open(const char *dir, const char *name, int flags);

#endif
