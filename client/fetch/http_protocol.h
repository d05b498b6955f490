/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_HTTP_PROTOCOL_H
#define PROFD_CLIENT_FETCH_HTTP_PROTOCOL_H

/*
 * The request of `profd-gateway --http` (fetch_protocol.h), with its parts as files. The file of
 * the answer is a sealed memfd with the body.
 */
#include <stdint.h>

#define HTTP_URL_MAX 4095u /* bytes */
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

#endif
