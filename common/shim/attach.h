/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SHIM_ATTACH_H
#define PROFD_COMMON_SHIM_ATTACH_H

/*
 * How a process with libprofd.so gets its ring. It connects to a Unix stream socket, profd's
 * control socket or a private one of `profctl run`, and sends the request `attach_shim` of
 * control.proto, in its packet: always the same bytes, so the library needs no protocol buffers.
 * The answer is a Response: `ok`, with two fds beside its first byte (SCM_RIGHTS of unix(7)), the
 * ring's memory and the bell; or `error`. Then the connection is closed.
 *
 * Whose ring it is the server learns from the kernel (SO_PEERCRED), and from nothing that is said.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/packet.h"

#define ATTACH_REQUEST_SIZE (PACKET_HEADER_SIZE + 2)
#define ATTACH_ANSWER_SIZE  (PACKET_HEADER_SIZE + 2)
#define ATTACH_ANSWER_MAX   512 /* of an answer's packet, header counted */

/* Packets and all. */
extern const uint8_t attach_request[ATTACH_REQUEST_SIZE];
extern const uint8_t attach_answer[ATTACH_ANSWER_SIZE]; /* `ok` */

/* --- the server ------------------------------------------------------------------------------- */

struct ring_reader;

struct attach_ring {
	void *memory; /* mapped */
	size_t length;
	struct ring_reader *reader; /* of it; NULL: there is no ring */
	int memory_fd, bell_fd;     /* for the process: to be closed when they are sent */
	/*
	 * Ours, non-blocking: becomes readable when the ring is half full, and at its end when the
	 * process ends, executes another program or closes its end.
	 */
	int bell;
};

#define ATTACH_RING_NONE ((struct attach_ring){.memory_fd = -1, .bell_fd = -1, .bell = -1})

/* @n_words as in ring_layout.h. Returns 0 or negative errno. */
int attach_ring_init(struct attach_ring *ret, uint32_t n_words);
/* The fds that were sent. */
void attach_ring_close_sent(struct attach_ring *ring);
/* Closes, frees and unmaps all; takes ATTACH_RING_NONE. */
void attach_ring_deinit(struct attach_ring *ring);

/*
 * Sends the answer `ok` with both fds, which stay the caller's. Never blocks. False: the peer did
 * not take it, errno says why.
 */
bool attach_send(int socket, const struct attach_ring *ring);

/* --- the library ------------------------------------------------------------------------------ */

enum {
	ATTACH_E_OK,
	ATTACH_E_NOBODY,  /* nobody is there, or none that speaks like this */
	ATTACH_E_DENIED,  /* the permissions of the socket or its directories forbid it */
	ATTACH_E_TIMEOUT, /* not within the time */
	ATTACH_E_REFUSED, /* see the reason */
};

struct attach_reason {
	char text[160]; /* one line of printable ASCII; may be "" */
};

/*
 * Asks the server at @path for a ring, for at most @timeout_ms in all. Async-signal-safe. Returns
 * ATTACH_E_*; the fds, close-on-exec, only with ATTACH_E_OK.
 */
int attach_connect(const char *path, int timeout_ms, int *ret_memory_fd, int *ret_bell_fd,
		   struct attach_reason *ret_reason);

enum { ATTACH_ANSWER_PARTIAL = -1 };

/*
 * What the @size bytes of an answer say: ATTACH_E_OK, ATTACH_E_REFUSED with a reason,
 * ATTACH_E_NOBODY (it is no such answer) or ATTACH_ANSWER_PARTIAL. Pure.
 */
int attach_parse_answer(const uint8_t *data, size_t size, struct attach_reason *ret_reason);

#endif
