/* SPDX-License-Identifier: MIT */
/* What is said, on both sides. The bytes are common/control.proto's (protobuf.dev/encoding). */
#include "common/shim/attach.h"

#include <stdio.h>
#include <string.h>

/* A field's number and that a length follows. */
#define FIELD(number)  ((number) << 3 | 2)
#define REQUEST_ATTACH FIELD(13) /* Request.attach_shim */
#define RESPONSE_OK    FIELD(1)  /* Response.ok */
#define RESPONSE_ERROR FIELD(2)  /* Response.error */
#define ERROR_CODE     (1 << 3)  /* Error.code: a number follows */
#define ERROR_MESSAGE  FIELD(2)  /* Error.message */

const uint8_t attach_request[ATTACH_REQUEST_SIZE] = {0, 0, 0, 2, REQUEST_ATTACH, 0};
const uint8_t attach_answer[ATTACH_ANSWER_SIZE] = {0, 0, 0, 2, RESPONSE_OK, 0};

struct bytes {
	const uint8_t *at, *end;
};

static bool attach_parse_number(struct bytes *bytes, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 63 && bytes->at < bytes->end; shift += 7) {
		uint8_t byte = *bytes->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool attach_parse_field(struct bytes *bytes, struct bytes *ret)
{
	uint64_t length;

	if (!attach_parse_number(bytes, &length) || length > (uint64_t)(bytes->end - bytes->at))
		return false;
	*ret = (struct bytes){bytes->at, bytes->at + length};
	bytes->at += length;
	return true;
}

/* An Error's message; false if there is none in it. */
static bool find_message(struct bytes error, struct bytes *ret)
{
	uint64_t number;

	while (error.at < error.end) {
		uint8_t tag = *error.at++;

		if (tag == ERROR_MESSAGE)
			return attach_parse_field(&error, ret);
		if (tag != ERROR_CODE || !attach_parse_number(&error, &number))
			return false;
	}
	return false;
}

static void put_reason(struct attach_reason *reason, struct bytes text)
{
	size_t n = 0;

	for (; text.at < text.end && n < sizeof(reason->text) - 1; text.at++)
		reason->text[n++] = *text.at >= ' ' && *text.at <= '~' ? (char)*text.at : '?';
	reason->text[n] = '\0';
}

int attach_parse_answer(const uint8_t *data, size_t size, struct attach_reason *ret_reason)
{
	struct bytes bytes, error, message = {NULL, NULL};
	struct packet packet;

	switch (packet_parse(data, size, ATTACH_ANSWER_MAX - PACKET_HEADER_SIZE, &packet)) {
	case PACKET_E_OK:
		break;
	case PACKET_E_PARTIAL:
		return ATTACH_ANSWER_PARTIAL;
	default:
		return ATTACH_E_NOBODY;
	}
	bytes = (struct bytes){packet.payload, packet.payload + packet.size};
	if (bytes.at == bytes.end)
		return ATTACH_E_NOBODY;
	if (*bytes.at == RESPONSE_OK)
		return ATTACH_E_OK;
	if (*bytes.at++ != RESPONSE_ERROR || !attach_parse_field(&bytes, &error))
		return ATTACH_E_NOBODY;
	find_message(error, &message);
	put_reason(ret_reason, message);
	return ATTACH_E_REFUSED;
}
