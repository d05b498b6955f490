/* SPDX-License-Identifier: MIT */
#include "common/packet.h"

#include "common/bytes.h"

int packet_parse(const uint8_t *data, size_t size, size_t max, struct packet *ret)
{
	struct packet packet = {0};
	size_t have;

	if (size < PACKET_HEADER_SIZE) {
		packet.missing = PACKET_HEADER_SIZE - size;
		*ret = packet;
		return PACKET_E_PARTIAL;
	}
	packet.size = (size_t)bytes_number(data, PACKET_HEADER_SIZE, true);
	if (packet.size > max)
		return PACKET_E_TOO_LARGE;
	packet.payload = data + PACKET_HEADER_SIZE;
	have = size - PACKET_HEADER_SIZE;
	if (have < packet.size)
		packet.missing = packet.size - have;
	*ret = packet;
	return packet.missing ? PACKET_E_PARTIAL : PACKET_E_OK;
}

void packet_put_header(uint8_t header[PACKET_HEADER_SIZE], size_t size)
{
	header[0] = (uint8_t)(size >> 24);
	header[1] = (uint8_t)(size >> 16);
	header[2] = (uint8_t)(size >> 8);
	header[3] = (uint8_t)size;
}
