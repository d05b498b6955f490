/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WIRE_H
#define PROFD_COMMON_WIRE_H

/*
 * The protocol buffers wire format (protobuf.dev/programming-guides/encoding), as far as
 * profile.proto and attach.h need it: varints, fields, lengths. Most messages of profile.proto hold
 * nothing but numbers, in fields from 1 on: an array of them, in which 0 is a field that is not
 * there, is such a message. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_VARINT = 0,
	WIRE_64BIT = 1,
	WIRE_BYTES = 2,
	WIRE_32BIT = 5,
};

struct wire {
	const uint8_t *at, *end;
};

struct wire_field {
	uint32_t number;   /* never 0 */
	uint32_t type;     /* WIRE_* */
	uint64_t value;    /* of WIRE_VARINT */
	struct wire bytes; /* of WIRE_BYTES */
};

bool wire_varint_long(struct wire *w, uint64_t *ret);

/* False at the end of the bytes and for more than ten of them. */
static inline bool wire_varint(struct wire *w, uint64_t *ret)
{
	if (w->at < w->end && *w->at < 0x80) {
		*ret = *w->at++;
		return true;
	}
	return wire_varint_long(w, ret);
}

/* The next field; false when there is none, or a group, which no program writes. */
bool wire_next(struct wire *w, struct wire_field *ret);
/* The fields 1 to @n of a message, of each the last one. False: it is not a message of numbers. */
bool wire_read_numbers(struct wire message, uint64_t *ret, size_t n);

#define WIRE_FIELD_MAX 11 /* bytes of a field that is a number, and of the head of one of bytes */

/*
 * These write at @to, where there is room, and return the end of what they wrote. A field of bytes
 * is written WIRE_FIELD_MAX bytes further on than it begins, and moves there when its length is
 * known: wire_close(). An empty list of numbers is no field.
 */
uint8_t *wire_put_varint(uint8_t *to, uint64_t value);
/* Fields from @first on. */
uint8_t *wire_put_numbers(uint8_t *to, uint32_t first, const uint64_t *numbers, size_t n);
uint8_t *wire_close(uint8_t *begin, uint32_t number, const uint8_t *end);
uint8_t *wire_close_list(uint8_t *begin, uint32_t number, uint8_t *end);
/* A field that is a message of numbers. */
uint8_t *wire_put_message(uint8_t *to, uint32_t number, const uint64_t *numbers, size_t n);

#endif
