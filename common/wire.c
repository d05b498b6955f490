/* SPDX-License-Identifier: MIT */
/*
 * A field is a varint, its number and type, and a value: another varint, or a length and as many
 * bytes. Of fields that are numbers, number and type are written as one byte: profile.proto has
 * none above 15.
 */
#include "common/wire.h"

#include <string.h>

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

/* Nothing that is read is of fixed size. */
static bool wire_skip(struct wire *w, size_t n_bytes)
{
	if ((size_t)(w->end - w->at) < n_bytes)
		return false;
	w->at += n_bytes;
	return true;
}

static bool wire_value(struct wire *w, struct wire_field *field)
{
	uint64_t length;

	switch (field->type) {
	case WIRE_VARINT:
		return wire_varint(w, &field->value);
	case WIRE_64BIT:
		return wire_skip(w, 8);
	case WIRE_32BIT:
		return wire_skip(w, 4);
	case WIRE_BYTES:
		if (!wire_varint(w, &length) || length > (uint64_t)(w->end - w->at))
			return false;
		field->bytes = (struct wire){.at = w->at, .end = w->at + length};
		w->at += length;
		return true;
	default:
		return false;
	}
}

bool wire_next(struct wire *w, struct wire_field *ret)
{
	struct wire_field field = {0};
	uint64_t tag;

	if (!wire_varint(w, &tag) || tag >> 3 == 0 || tag >> 32)
		return false;
	field.number = (uint32_t)(tag >> 3);
	field.type = (uint32_t)(tag & 7);
	if (!wire_value(w, &field))
		return false;
	*ret = field;
	return true;
}

bool wire_read_numbers(struct wire message, uint64_t *ret, size_t n)
{
	struct wire_field field;

	memset(ret, 0, n * sizeof(*ret));
	while (message.at < message.end) {
		if (!wire_next(&message, &field))
			return false;
		if (field.number > n)
			continue;
		if (field.type != WIRE_VARINT)
			return false;
		ret[field.number - 1] = field.value;
	}
	return true;
}

uint8_t *wire_put_varint(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

uint8_t *wire_put_numbers(uint8_t *to, uint32_t first, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!numbers[i])
			continue;
		*to++ = (uint8_t)((first + i) << 3 | WIRE_VARINT);
		to = wire_put_varint(to, numbers[i]);
	}
	return to;
}

uint8_t *wire_close(uint8_t *begin, uint32_t number, const uint8_t *end)
{
	const uint8_t *bytes = begin + WIRE_FIELD_MAX;
	size_t n = (size_t)(end - bytes);

	begin = wire_put_varint(begin, number << 3 | WIRE_BYTES);
	begin = wire_put_varint(begin, n);
	memmove(begin, bytes, n);
	return begin + n;
}

uint8_t *wire_close_list(uint8_t *begin, uint32_t number, uint8_t *end)
{
	return end == begin + WIRE_FIELD_MAX ? begin : wire_close(begin, number, end);
}

uint8_t *wire_put_message(uint8_t *to, uint32_t number, const uint64_t *numbers, size_t n)
{
	return wire_close(to, number, wire_put_numbers(to + WIRE_FIELD_MAX, 1, numbers, n));
}
