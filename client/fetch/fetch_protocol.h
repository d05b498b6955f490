/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H
#define PROFD_CLIENT_FETCH_FETCH_PROTOCOL_H

/*
 * What we and a profd-gateway that fetches things say to each other, over a SOCK_SEQPACKET pair
 * that it has as FETCH_SOCKET_FD: a request, and its answer, with one file (SCM_RIGHTS) for
 * FETCH_DONE. It ends when the other end is closed, also in the middle of a fetch. Both are built
 * from one tree; the magic number shows if they are not.
 */
#include <stdint.h>

#include "client/fetch/http_headers.h"

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

/* Of `profd-gateway --fetch`. */
struct fetch_request {
	uint32_t magic;
	uint32_t length; /* of the build id */
	uint8_t id[FETCH_ID_MAX + 1];
};

struct fetch_answer {
	uint32_t magic;
	uint32_t outcome;          /* enum fetch_outcome */
	uint32_t status;           /* of HTTP, whatever it says */
	uint32_t retry_after_s;    /* of an HTTP answer, from now on; 0: it does not say */
	uint32_t is_unsent;        /* the server cannot have got all of an HTTP request */
	char text[FETCH_TEXT_MAX]; /* REFUSED and FAILED: why, with its NUL */
};

/*
 * Of `profd-gateway --http`, whose parts come as files. The file of its answer is a sealed memfd
 * with the body.
 */
#define HTTP_URL_MAX 4095u /* bytes */
/* Of an answer that is no success: what people read of it. */
#define HTTP_COMPLAINT_MAX (UINT64_C(64) << 10)

/* The files of a request, which has all of them in this order; empty ones are none. */
enum http_part {
	HTTP_PART_BODY,        /* what is posted */
	HTTP_PART_CERTIFICATE, /* of the client, PEM */
	HTTP_PART_KEY,
	HTTP_PART_AUTHORITIES, /* that vouch for servers, PEM; else those of the system */
	HTTP_PART_HEADERS,     /* see http_headers.h */
	N_HTTP_PARTS,
};

enum http_flag {
	HTTP_FLAG_INSECURE = 1, /* the server's certificate is not verified */
	HTTP_FLAG_POST = 2,     /* else it is a GET */
	HTTP_FLAG_DELIVERY = 4, /* see fetcher.h */
};

struct http_request_packet {
	uint32_t magic;
	uint32_t flags;
	uint32_t length; /* of the URL */
	uint64_t timeout_ms;
	uint64_t max_bytes; /* of the body of a success */
	char url[HTTP_URL_MAX + 1];
	/* Of the body; "": none is named. */
	char content_type[HTTP_CONTENT_TYPE_MAX + 1], content_encoding[HTTP_CONTENT_TYPE_MAX + 1];
};

#endif
