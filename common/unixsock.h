/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNIXSOCK_H
#define PROFD_COMMON_UNIXSOCK_H

/*
 * Unix stream sockets at a path (unix(7)): listening without stealing a living daemon's socket,
 * connecting, and blocking transfer of whole packets for clients. All fds are close-on-exec.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	UNIXSOCK_E_OK,
	UNIXSOCK_E_IN_USE,    /* somebody listens there, or it is no socket */
	UNIXSOCK_E_NOBODY,    /* there is no socket, or no process listens on it */
	UNIXSOCK_E_DENIED,    /* the permissions of the socket or its directories forbid it */
	UNIXSOCK_E_TIMEOUT,   /* not within the time */
	UNIXSOCK_E_CLOSED,    /* the other side ended the stream */
	UNIXSOCK_E_TOO_LARGE, /* the other side sends more than the maximum */
	UNIXSOCK_E_BAD_PATH,  /* empty, or longer than a socket's address can be (107 bytes) */
};

/*
 * Binds and listens, non-blocking. A socket file on which connections are refused is replaced;
 * two starters at the same moment must be kept apart by the caller (a lock). The file gets @mode
 * and, where we may, @group ((gid_t)-1: leave it). Returns UNIXSOCK_E_OK, _IN_USE, _DENIED,
 * _BAD_PATH or negative errno.
 */
int unixsock_listen(const char *path, mode_t mode, gid_t group, int *ret_fd);

/* Removes the socket at @path if no process listens on it. Returns as unixsock_listen(). */
int unixsock_remove_stale(const char *path);

/* Connects; the fd is blocking. Returns _OK, _NOBODY, _DENIED, _BAD_PATH or negative errno. */
int unixsock_connect(const char *path, int *ret_fd);
/* The same without waiting, and non-blocking: where it would wait for a full backlog, _TIMEOUT. */
int unixsock_connect_at_once(const char *path, int *ret_fd);

/*
 * Sends one packet (common/packet.h), at most @timeout_ms in all. Returns UNIXSOCK_E_OK, _TIMEOUT,
 * _CLOSED or negative errno. Never raises SIGPIPE. After _CLOSED an answer may still be readable.
 */
int unixsock_send(int fd, const uint8_t *payload, size_t size, int timeout_ms);

/*
 * Waits for one packet. The payload is allocated; the caller frees it. Returns _OK, _TIMEOUT,
 * _CLOSED, _TOO_LARGE (more than @max) or negative errno.
 */
int unixsock_receive(int fd, size_t max, int timeout_ms, uint8_t **ret_payload, size_t *ret_size);

#endif
