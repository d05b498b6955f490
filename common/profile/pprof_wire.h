/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PPROF_WIRE_H
#define PROFD_COMMON_PROFILE_PPROF_WIRE_H

/*
 * The protocol buffers wire format, as far as walking over a message needs it
 * (protobuf.dev/programming-guides/encoding): varints, fields, lengths. Internal to
 * common/profile; pure.
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
	uint32_t number; /* never 0 */
	uint32_t type;   /* WIRE_* */
	uint64_t value;  /* unless WIRE_BYTES */
	struct wire bytes;
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

/* The next field; false when what comes is none (groups, which nobody writes, included). */
bool wire_next(struct wire *w, struct wire_field *ret);

#endif
