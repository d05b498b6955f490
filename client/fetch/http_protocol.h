/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_HTTP_PROTOCOL_H
#define PROFD_CLIENT_FETCH_HTTP_PROTOCOL_H

/*
 * What http.h and `profd-gateway --http` say to each other, over the same kind of socket as in
 * client/fetch/fetch_protocol.h: a request with its parts as files, and its answer, with the
 * body as a sealed memfd for HTTP_ANSWER_DONE. It ends when the other end is closed, also in the
 * middle of a request.
 */
#include <stdint.h>

#define HTTP_MAGIC    0x70747468u
#define HTTP_URL_MAX  4095u /* bytes */
#define HTTP_TEXT_MAX 300u
/* Of an answer that is no success: what people read of it. */
#define HTTP_COMPLAINT_MAX (UINT64_C(64) << 10)

/* The files of a request, by their bits; sent in this order. */
enum http_part {
	HTTP_PART_BODY,        /* what is posted; without it, it is a GET */
	HTTP_PART_CERTIFICATE, /* of the client, PEM */
	HTTP_PART_KEY,
	HTTP_PART_AUTHORITIES, /* that vouch for servers, PEM; else those of the system */
	N_HTTP_PARTS,
};

enum http_flag {
	HTTP_FLAG_INSECURE = 1, /* whoever the server is */
};

struct http_request_packet {
	uint32_t magic;
	uint32_t parts; /* bits */
	uint32_t flags;
	uint32_t length; /* of the URL */
	uint64_t timeout_ms;
	uint64_t max_bytes; /* of the body of a success */
	char url[HTTP_URL_MAX + 1];
};

enum http_answer_outcome {
	HTTP_ANSWER_DONE, /* there is a status, whatever it says */
	HTTP_ANSWER_FAILED,
	N_HTTP_ANSWER_OUTCOMES,
};

struct http_answer_packet {
	uint32_t magic;
	uint32_t outcome; /* enum http_answer_outcome */
	uint32_t status;
	char text[HTTP_TEXT_MAX]; /* for FAILED, with its NUL: why */
};

#endif
