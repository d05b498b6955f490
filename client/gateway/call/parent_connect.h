/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_CALL_PARENT_CONNECT_H
#define PROFD_CLIENT_GATEWAY_CALL_PARENT_CONNECT_H

/* A connection to profd, from the parent process, which is `profctl web`
 * (client/web/web_protocol.h). As unixsock_connect_at_once(). */
int parent_connect(int *ret_fd);

#endif
