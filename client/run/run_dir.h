/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_RUN_DIR_H
#define PROFD_RUN_RUN_DIR_H

/*
 * A directory that is there as long as profctl runs: DIR/profd-run-XXXXXX, ours alone (0700).
 * The process that makes one holds a lock on it (flock(2)), which ends however the process does,
 * and removes what killed processes of the same user have left beside it.
 */
#include <stdbool.h>

#define RUN_DIR_SOCKET "socket" /* the only file in it */

struct run_dir {
	char path[64]; /* "": none */
	int fd;        /* holds the lock */
};

/* Below @dir; false with errno: there is none to be had. Does not block for long. */
bool run_dir_make(struct run_dir *ret, const char *dir);
/* With its socket. Takes one that was not made. */
void run_dir_remove(struct run_dir *f);

#endif
