/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCH_PACKET_H
#define PROFD_CLIENT_FETCH_FETCH_PACKET_H

/*
 * Packets with file descriptors between profd-gateway and who started it, both ways, over a
 * SOCK_SEQPACKET pair. What is in them is said elsewhere.
 */
#include <stddef.h>
#include <sys/types.h>

#define FETCH_PACKET_FDS_MAX 4

/* What came with a packet: the receiver's. */
struct fetch_packet_fds {
	int all[FETCH_PACKET_FDS_MAX];
	size_t n;
	size_t n_more; /* that were too many, and are closed */
};

/* Sends all or nothing; @flags as send(2)'s, and MSG_NOSIGNAL. Returns 0 or negative errno. */
int fetch_packet_send(int socket, const void *data, size_t size, const int *fds, size_t n_fds,
		      int flags);
/*
 * Receives at most @size bytes. *ret_fds is written in any case, to be given up with
 * fetch_packet_fds_deinit(). Blocks. Returns bytes, 0 at the end, or negative errno.
 */
ssize_t fetch_packet_receive(int socket, void *data, size_t size, struct fetch_packet_fds *ret_fds);
void fetch_packet_fds_deinit(struct fetch_packet_fds *fds);

#endif
