/* SPDX-License-Identifier: MIT */
#include "common/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A stream that arrives byte by byte is partial, with the right number missing, until it ends. */
static void test_byte_by_byte(void **state)
{
	uint8_t stream[PACKET_HEADER_SIZE + 300];
	struct packet packet;

	(void)state;
	packet_put_header(stream, 300);
	memset(stream + PACKET_HEADER_SIZE, 'x', 300);
	for (size_t n = 0; n < sizeof(stream); n++) {
		assert_int_equal(packet_parse(stream, n, 300, &packet), PACKET_E_PARTIAL);
		if (n < PACKET_HEADER_SIZE)
			assert_int_equal(packet.missing, PACKET_HEADER_SIZE - n);
		else
			assert_int_equal(packet.missing, sizeof(stream) - n);
	}
	assert_int_equal(packet_parse(stream, sizeof(stream), 300, &packet), PACKET_E_OK);
	assert_ptr_equal(packet.payload, stream + PACKET_HEADER_SIZE);
	assert_int_equal(packet.size, 300);
	assert_int_equal(packet.missing, 0);
}

static void test_limits(void **state)
{
	static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};
	static const uint8_t text[] = "GET / HTTP/1.0\r\n";
	static const uint8_t big_endian[] = {0, 1, 0, 1};
	static const uint8_t empty[] = {0, 0, 0, 0, 9};
	struct packet packet;

	(void)state;
	assert_int_equal(packet_parse(huge, 4, PACKET_REQUEST_MAX, &packet), PACKET_E_TOO_LARGE);
	assert_int_equal(packet_parse(text, 16, PACKET_RESPONSE_MAX, &packet), PACKET_E_TOO_LARGE);
	assert_int_equal(packet_parse(big_endian, 4, 65536, &packet), PACKET_E_TOO_LARGE);
	assert_int_equal(packet_parse(big_endian, 4, 65537, &packet), PACKET_E_PARTIAL);
	assert_int_equal(packet.size, 65537);
	assert_int_equal(packet_parse(empty, 5, 0, &packet), PACKET_E_OK);
	assert_int_equal(packet.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
