/* SPDX-License-Identifier: MIT */
#include "client/export/proto_out.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/room.h"
#include "common/utf8.h"
#include "common/wire.h"

/* Where @n more bytes may be written; NULL: nowhere. */
static uint8_t *proto_make_room(struct proto_out *out, size_t n)
{
	out->is_short |= room_make(&out->bytes, &out->max, out->n + n, 1) != 0;
	return out->is_short ? NULL : out->bytes + out->n;
}

void proto_append_bytes(struct proto_out *out, const void *data, size_t length)
{
	uint8_t *to = length ? proto_make_room(out, length) : NULL;

	if (!to)
		return;
	memcpy(to, data, length);
	out->n += length;
}

void proto_append_varint(struct proto_out *out, uint64_t value)
{
	uint8_t *to = proto_make_room(out, WIRE_FIELD_MAX);

	if (to)
		out->n = (size_t)(wire_put_varint(to, value) - out->bytes);
}

void proto_append_text(struct proto_out *out, const char *text)
{
	cleanup(freep) char *repaired = utf8_is_valid(text) ? NULL : utf8_repair(text);

	if (!repaired && !utf8_is_valid(text)) {
		out->is_short = true;
		return;
	}
	if (repaired)
		text = repaired;
	proto_append_bytes(out, text, strlen(text));
}

static void proto_append_head(struct proto_out *out, uint32_t number, uint32_t type)
{
	proto_append_varint(out, number << 3 | type);
}

void proto_put_numbers(struct proto_out *out, uint32_t first, const uint64_t *numbers, size_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (numbers[i])
			proto_put_chosen(out, first + i, numbers[i]);
}

void proto_put_chosen(struct proto_out *out, uint32_t number, uint64_t value)
{
	proto_append_head(out, number, WIRE_VARINT);
	proto_append_varint(out, value);
}

void proto_put_fixed64(struct proto_out *out, uint32_t number, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	proto_append_head(out, number, WIRE_64BIT);
	proto_append_bytes(out, bytes, sizeof(bytes));
}

void proto_put_bytes(struct proto_out *out, uint32_t number, const void *data, size_t length)
{
	proto_append_head(out, number, WIRE_BYTES);
	proto_append_varint(out, length);
	proto_append_bytes(out, data, length);
}

void proto_put_text(struct proto_out *out, uint32_t number, const char *text)
{
	size_t begin = proto_begin(out);

	proto_append_text(out, text);
	proto_end(out, number, begin);
}

void proto_put_message(struct proto_out *out, uint32_t number, const uint64_t *numbers, size_t n)
{
	size_t begin = proto_begin(out);

	proto_put_numbers(out, 1, numbers, n);
	proto_end(out, number, begin);
}

void proto_put_list(struct proto_out *out, uint32_t number, const uint32_t *list, size_t n)
{
	size_t begin;

	if (!n)
		return;
	begin = proto_begin(out);
	for (size_t i = 0; i < n; i++)
		proto_append_varint(out, list[i]);
	proto_end(out, number, begin);
}

/* As wire.h has it: the content follows room for its head, and moves to it. */
size_t proto_begin(struct proto_out *out)
{
	size_t begin = out->n;

	if (proto_make_room(out, WIRE_FIELD_MAX))
		out->n += WIRE_FIELD_MAX;
	return begin;
}

void proto_end(struct proto_out *out, uint32_t number, size_t begin)
{
	uint8_t *end;

	if (out->is_short)
		return;
	end = wire_close(out->bytes + begin, number, out->bytes + out->n);
	out->n = (size_t)(end - out->bytes);
}
