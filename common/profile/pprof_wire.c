/* SPDX-License-Identifier: MIT */
#include "common/profile/pprof_wire.h"

bool wire_varint_long(struct wire *w, uint64_t *ret)
{
	const uint8_t *at = w->at;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && at < w->end; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			w->at = at;
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool wire_fixed(struct wire *w, unsigned n_bytes, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(w->end - w->at) < n_bytes)
		return false;
	for (unsigned i = 0; i < n_bytes; i++)
		value |= (uint64_t)w->at[i] << (8 * i);
	w->at += n_bytes;
	*ret = value;
	return true;
}

bool wire_next(struct wire *w, struct wire_field *ret)
{
	struct wire_field field = {0};
	uint64_t tag, length;

	if (!wire_varint(w, &tag) || tag >> 3 == 0 || tag >> 32)
		return false;
	field.number = (uint32_t)(tag >> 3);
	field.type = (uint32_t)(tag & 7);
	switch (field.type) {
	case WIRE_VARINT:
		if (!wire_varint(w, &field.value))
			return false;
		break;
	case WIRE_64BIT:
		if (!wire_fixed(w, 8, &field.value))
			return false;
		break;
	case WIRE_32BIT:
		if (!wire_fixed(w, 4, &field.value))
			return false;
		break;
	case WIRE_BYTES:
		if (!wire_varint(w, &length) || length > (uint64_t)(w->end - w->at))
			return false;
		field.bytes = (struct wire){.at = w->at, .end = w->at + length};
		w->at += length;
		break;
	default:
		return false;
	}
	*ret = field;
	return true;
}
