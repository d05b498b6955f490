/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H
#define PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H

/*
 * What a fetcher and `profd-gateway --fetch` say to each other, over a SOCK_SEQPACKET pair that the
 * latter has as FETCH_SOCKET_FD: a request, and its answer, with one file by SCM_RIGHTS for
 * FETCH_FILE. It ends when the other end is closed, also in the middle of a fetch. Both are built
 * from one tree; the magic number tells if they are not.
 */
#include <stdint.h>

#define FETCH_SOCKET_FD 3
#define FETCH_MAGIC     0x66647031u
#define FETCH_ID_MAX    63u /* bytes; what libdebuginfod can ask for */
#define FETCH_TEXT_MAX  200u
#define FETCH_FILE_MAX  (UINT64_C(2) << 30) /* larger files are not wanted */

enum fetch_outcome {
	FETCH_FILE,
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
	char text[FETCH_TEXT_MAX]; /* for REFUSED and FAILED, with its NUL: why */
};

#endif
