/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PACKET_H
#define PROFD_COMMON_PACKET_H

/*
 * How messages are delimited on a stream: each is preceded by its length, four bytes, big-endian,
 * not counting themselves. Knows nothing of what is inside. Pure: no I/O, no allocation.
 */
#include <stddef.h>
#include <stdint.h>

#define PACKET_HEADER_SIZE  4
#define PACKET_REQUEST_MAX  (64 * 1024)        /* bytes of a request, header not counted */
#define PACKET_RESPONSE_MAX (16 * 1024 * 1024) /* of a response */

enum {
	PACKET_E_OK,
	PACKET_E_PARTIAL,   /* more bytes are needed */
	PACKET_E_TOO_LARGE, /* the stream asks for more than the maximum: give it up */
};

struct packet {
	const uint8_t *payload; /* borrowed from the data; what there is of it if partial */
	size_t size;            /* of the whole payload; 0 while the header is not complete */
	size_t missing;         /* bytes to the end of the header, then of the payload */
};

/*
 * Looks at the @size bytes with which a stream goes on. Calling it again with more of the same
 * stream gives the same packet. @max bounds the payload.
 */
int packet_parse(const uint8_t *data, size_t size, size_t max, struct packet *ret);

/* Writes the header for a payload of @size bytes. @size must be at most UINT32_MAX. */
void packet_put_header(uint8_t header[PACKET_HEADER_SIZE], size_t size);

#endif
