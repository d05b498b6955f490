/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SESSION_IDS_H
#define PROFD_SESSION_IDS_H

/*
 * Session ids never repeat within a state directory: the highest one given out is kept as an
 * extended attribute of the directory sessions/, and the directories in it tell the rest where the
 * file system has no such attributes.
 */
#include <stdint.h>

/* The first id that was never given out. @store_fd: the state directory. At least 1. */
uint64_t session_ids_next(int store_fd);
/* @id has been given out. Best effort. */
void session_ids_used(int store_fd, uint64_t id);

#endif
