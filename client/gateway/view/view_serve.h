/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_VIEW_SERVE_H
#define PROFD_CLIENT_GATEWAY_VIEW_VIEW_SERVE_H

/*
 * `profd-gateway --view`: answers one request (view_protocol.h) and ends. All privileges have been
 * given up before; the rest goes here, before anything is read: no file can be opened, no socket
 * made, no program started, and memory and CPU time are bounded. A process per request, so that
 * what a hostile profile does to it ends with it.
 */

/* Does not return: leaves by _exit(2), with 0 once it has answered. */
_Noreturn void view_serve(int socket);

#endif
