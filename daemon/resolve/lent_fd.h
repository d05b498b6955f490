/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_LENT_FD_H
#define PROFD_RESOLVE_LENT_FD_H

/*
 * A file descriptor that the main thread may give up at any time, and of which other threads take
 * copies. Given up is given up: no other descriptor ever takes its place, and *@fd is -1.
 *
 * A borrower holds a reference on what the descriptor belongs to.
 */
#include <stdatomic.h>

/* Any thread: a copy, the caller's, or -1: it was given up, or there is no room for a copy. */
int lent_fd_borrow(const atomic_int *fd);
/* The main thread. Takes one that has been given up, too. */
void lent_fd_give_up(atomic_int *fd);

#endif
