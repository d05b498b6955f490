/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_LENT_FD_H
#define PROFD_RESOLVE_LENT_FD_H

/*
 * A file descriptor that the main thread may give up at any time, and other threads use without a
 * lock. It is two numbers: the descriptor, -1 once it was given up, and how often it is lent, with
 * a bit for having been given up. It is closed by the one who gives it up or, if it is lent then,
 * by the last one who returns it. Given up is given up: no other descriptor ever takes its place.
 *
 * Whoever borrows holds a reference on what the descriptor belongs to.
 */
#include <stdatomic.h>

/*
 * Any thread: the descriptor, to be returned, or -1. Initially *@fd is the descriptor, or -1, and
 * *@n_lent is 0.
 */
int lent_fd_borrow(atomic_int *fd, atomic_uint *n_lent);
/* @fd: what was borrowed; -1 is nothing. */
void lent_fd_return(atomic_uint *n_lent, int fd);
/* The main thread. Takes one that has been given up, too. */
void lent_fd_give_up(atomic_int *fd, atomic_uint *n_lent);

#endif
