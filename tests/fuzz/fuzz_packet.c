/* SPDX-License-Identifier: MIT */
/*
 * The first byte chooses the maximum, the second how much has arrived. What is parsed from the
 * whole must be what is parsed from any shorter beginning that suffices, and nothing may point
 * outside the data.
 */
#include <stdlib.h>
#include <string.h>

#include "common/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet whole, part;
	size_t max, n;
	int r, s;

	if (size < 2)
		return 0;
	max = (size_t)data[0] * 64;
	n = data[1] < size - 2 ? data[1] : size - 2;
	data += 2;
	size -= 2;
	r = packet_parse(data, size, max, &whole);
	if (r == PACKET_E_OK && (whole.payload != data + PACKET_HEADER_SIZE || whole.missing ||
				 whole.size > max || whole.size + PACKET_HEADER_SIZE > size))
		abort();
	if (r == PACKET_E_PARTIAL && !whole.missing)
		abort();
	s = packet_parse(data, n, max, &part);
	if (s == PACKET_E_TOO_LARGE && r != PACKET_E_TOO_LARGE)
		abort();
	if (s == PACKET_E_OK && (r != PACKET_E_OK || part.size != whole.size))
		abort();
	if (s == PACKET_E_PARTIAL && r == PACKET_E_OK && part.missing > size - n)
		abort();
	return 0;
}
