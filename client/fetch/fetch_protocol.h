/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H
#define PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H

/*
 * What we and a profd-gateway that fetches things (gateway_child.h) say to each other, over a
 * SOCK_SEQPACKET pair that it has as FETCH_SOCKET_FD: a request, and its answer, with one file
 * (SCM_RIGHTS) for FETCH_DONE. It ends when the other end is closed, also in the middle of a fetch.
 * Both are built from one tree; the magic number shows if they are not. The request of `--fetch` is
 * below, that of `--http` in http_protocol.h.
 */
#include <stdint.h>

#define FETCH_SOCKET_FD 3
#define FETCH_MAGIC     0x66647031u
#define FETCH_ID_MAX    63u /* bytes; what libdebuginfod can ask for */
#define FETCH_TEXT_MAX  300u
#define FETCH_FILE_MAX  (UINT64_C(2) << 30) /* larger files are not wanted */

enum fetch_outcome {
	FETCH_DONE,
	FETCH_NONE,    /* the servers do not have it */
	FETCH_REFUSED, /* one has it, but it is too large */
	FETCH_FAILED,
	N_FETCH_OUTCOMES,
};

struct fetch_request {
	uint32_t magic;
	uint32_t length; /* of the build id */
	uint8_t id[FETCH_ID_MAX + 1];
};

struct fetch_answer {
	uint32_t magic;
	uint32_t outcome;          /* enum fetch_outcome */
	uint32_t status;           /* of HTTP, whatever it says */
	char text[FETCH_TEXT_MAX]; /* REFUSED and FAILED: why, with its NUL */
};

#endif
