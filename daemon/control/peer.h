/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_PEER_H
#define PROFD_CONTROL_PEER_H

/*
 * Who is at the other end of a connected Unix socket: credentials and groups as they were at
 * connect(2) (SO_PEERCRED, SO_PEERGROUPS: socket(7), kernel 28b5ba2aa0f5), not as they are now.
 */
#include "daemon/control/control.h"

/* @group: its members are privileged; (gid_t)-1: none. Returns 0 or negative errno. */
int peer_init(struct peer *ret, int fd, gid_t group);

#endif
