/* SPDX-License-Identifier: MIT */
/* What is said, on both sides. The bytes are common/control.proto's (protobuf.dev/encoding). */
#include "common/shim/attach.h"

#include "common/wire.h"

/* A field's number and that a length follows. */
#define FIELD(number)  ((number) << 3 | 2)
#define REQUEST_ATTACH FIELD(13) /* Request.attach_shim */
#define RESPONSE_OK    FIELD(1)  /* Response.ok */
#define RESPONSE_ERROR FIELD(2)  /* Response.error */
#define ERROR_MESSAGE  2         /* Error.message */

const uint8_t attach_request[ATTACH_REQUEST_SIZE] = {0, 0, 0, 2, REQUEST_ATTACH, 0};
const uint8_t attach_answer[ATTACH_ANSWER_SIZE] = {0, 0, 0, 2, RESPONSE_OK, 0};

/* An Error's message; nothing if there is none in it. */
static struct wire find_message(struct wire error)
{
	struct wire_field field;

	while (wire_next(&error, &field))
		if (field.number == ERROR_MESSAGE && field.type == WIRE_BYTES)
			return field.bytes;
	return (struct wire){0};
}

static void put_reason(struct attach_reason *reason, struct wire text)
{
	size_t n = 0;

	for (; text.at < text.end && n < sizeof(reason->text) - 1; text.at++)
		reason->text[n++] = *text.at >= ' ' && *text.at <= '~' ? (char)*text.at : '?';
	reason->text[n] = '\0';
}

int attach_parse_answer(const uint8_t *data, size_t size, struct attach_reason *ret_reason)
{
	struct wire_field error;
	struct packet packet;
	struct wire bytes;

	switch (packet_parse(data, size, ATTACH_ANSWER_MAX - PACKET_HEADER_SIZE, &packet)) {
	case PACKET_E_OK:
		break;
	case PACKET_E_PARTIAL:
		return ATTACH_ANSWER_PARTIAL;
	default:
		return ATTACH_E_NOBODY;
	}
	bytes = (struct wire){packet.payload, packet.payload + packet.size};
	if (bytes.at == bytes.end)
		return ATTACH_E_NOBODY;
	if (*bytes.at == RESPONSE_OK)
		return ATTACH_E_OK;
	if (*bytes.at != RESPONSE_ERROR || !wire_next(&bytes, &error))
		return ATTACH_E_NOBODY;
	put_reason(ret_reason, find_message(error.bytes));
	return ATTACH_E_REFUSED;
}
