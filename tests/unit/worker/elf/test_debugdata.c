/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lzma.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "common/sanitized.h"
#include "daemon/worker/elf/debuglink.h"

#define LENGTH 700000u /* more than one step of the output's growth */

/* Packs @data; *ret_length of the result, which is the caller's. */
static uint8_t *pack(const uint8_t *data, size_t length, size_t *ret_length)
{
	size_t room = lzma_stream_buffer_bound(length);
	uint8_t *out = malloc(room);

	*ret_length = 0;
	assert_non_null(out);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, data, length, out,
						 ret_length, room),
			 LZMA_OK);
	return out;
}

static void test_round_trip_and_bound(void **state)
{
	cleanup(freep) uint8_t *data = malloc(LENGTH), *xz = NULL, *unpacked = NULL;
	size_t packed, length = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)(i * i >> 7);
	xz = pack(data, LENGTH, &packed);
	assert_int_equal(debugdata_unpack(xz, packed, LENGTH - 1, &unpacked, &length),
			 DEBUGDATA_E_MALFORMED);
	assert_int_equal(debugdata_unpack(xz, packed, 0, &unpacked, &length),
			 DEBUGDATA_E_MALFORMED);
	assert_null(unpacked);
	assert_int_equal(debugdata_unpack(xz, packed, LENGTH + 1, &unpacked, &length),
			 DEBUGDATA_E_OK);
	assert_int_equal(length, LENGTH);
	assert_memory_equal(unpacked, data, LENGTH);
}

/* As few bytes as there are, and in two blocks, by the preset that asks for 64 MiB. */
static void test_hungriest_preset(void **state)
{
	static uint8_t data[LENGTH], xz[LENGTH + 4096];
	lzma_stream stream = LZMA_STREAM_INIT;
	cleanup(freep) uint8_t *unpacked = NULL;
	struct rlimit before, some;
	size_t packed, length = 0;
	int r;

	(void)state;
	for (size_t i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)(i * i >> 9);
	assert_int_equal(lzma_easy_encoder(&stream, 9, LZMA_CHECK_CRC64), LZMA_OK);
	stream.next_in = data;
	stream.avail_in = LENGTH / 3;
	stream.next_out = xz;
	stream.avail_out = sizeof(xz);
	assert_int_equal(lzma_code(&stream, LZMA_FULL_FLUSH), LZMA_STREAM_END);
	stream.avail_in = LENGTH - LENGTH / 3;
	assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	packed = (size_t)stream.total_out;
	lzma_end(&stream);
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	some = before;
	some.rlim_cur = IS_SANITIZED ? before.rlim_cur : 32 << 20;
	assert_int_equal(setrlimit(RLIMIT_DATA, &some), 0);
	r = debugdata_unpack(xz, packed, LENGTH, &unpacked, &length);
	assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
	assert_int_equal(r, DEBUGDATA_E_OK);
	assert_int_equal(length, LENGTH);
	assert_memory_equal(unpacked, data, LENGTH);
}

static void test_damaged(void **state)
{
	static const uint8_t text[] = "some text, some text, some text, some text";
	cleanup(freep) uint8_t *xz = NULL;
	uint8_t *unpacked = NULL;
	size_t packed, length;

	(void)state;
	xz = pack(text, sizeof(text), &packed);
	for (size_t i = 0; i < packed; i++)
		assert_int_equal(debugdata_unpack(xz, i, 4096, &unpacked, &length),
				 DEBUGDATA_E_MALFORMED);
	for (size_t i = 0; i < packed; i++) {
		xz[i] ^= 0x10;
		if (debugdata_unpack(xz, packed, 4096, &unpacked, &length) == DEBUGDATA_E_OK) {
			free(unpacked);
			unpacked = NULL;
		}
		xz[i] ^= 0x10;
	}
	assert_null(unpacked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_and_bound),
		cmocka_unit_test(test_hungriest_preset),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
