/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_FD_PACKET_H
#define PROFD_COMMON_HELPER_FD_PACKET_H

/*
 * Packets with file descriptors (SCM_RIGHTS, unix(7)) over a SOCK_SEQPACKET pair; on a stream they
 * are pieces of it. Knows nothing of their contents. Async-signal-safe; errors have no origin.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define FD_PACKET_FDS_MAX 8

enum {
	FD_PACKET_E_OK,
	FD_PACKET_E_LATER, /* with MSG_DONTWAIT: nothing has arrived, or there is no room */
	FD_PACKET_E_END,   /* the other end is closed */
	FD_PACKET_E_RESET, /* received only: the same, before it read all that was sent */
};

/*
 * Sends the @n_parts parts and the @n_fds descriptors, which stay the caller's, in one packet.
 * @flags as for sendmsg(2); MSG_NOSIGNAL is added. Returns FD_PACKET_E_* or negative errno.
 */
int fd_packet_send_parts(int socket, const struct iovec *parts, size_t n_parts, const int *fds,
			 size_t n_fds, int flags);
int fd_packet_send(int socket, const void *data, size_t size, const int *fds, size_t n_fds,
		   int flags);

/* What arrived, besides the data. */
struct fd_packet {
	size_t length; /* of the data, in bytes */
	size_t n_fds;
	int fds[FD_PACKET_FDS_MAX]; /* close-on-exec; -1 where the receiver took one */
	bool is_cut;                /* there was more data, or there were more descriptors */
};

/*
 * Receives at most @size bytes. @flags as for recvmsg(2). Returns FD_PACKET_E_* or negative errno.
 * *ret is written in any case, and holds descriptors only with FD_PACKET_E_OK.
 */
int fd_packet_receive(int socket, void *data, size_t size, int flags, struct fd_packet *ret);
/* Closes the descriptors that nobody took. */
void fd_packet_deinit(struct fd_packet *p);

/* Waits for a packet or the end until CLOCK_MONOTONIC is @until_ns; false: there is none yet. */
bool fd_packet_await(int socket, uint64_t until_ns);

#endif
