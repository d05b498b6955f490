/* SPDX-License-Identifier: MIT */
/* The hash of a file's ends and its length, beside what sha256sum(1) prints of the same bytes. */
#include "daemon/worker/package/htlhash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/helper/memory_file.h"

#define HEX_SIZE (2 * ELF_HTLHASH_BYTES + 1)

/* Of a file of @length bytes, which are not all alike. */
static void hash_file(size_t length, char ret[HEX_SIZE])
{
	cleanup(closep) int fd = memory_file_new("profd-test");
	uint8_t hash[ELF_HTLHASH_BYTES];

	assert_true(fd >= 0);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(write(fd, &(uint8_t){(uint8_t)(i % 251)}, 1), 1);
	assert_true(htlhash_read(fd, hash));
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}

/*
 * python3 -c 'import hashlib, sys; n = int(sys.argv[1]); f = bytes(i % 251 for i in range(n));
 * print(hashlib.sha256(f[:4096] + f[-4096:] + n.to_bytes(8, "big")).hexdigest()[:32])'
 */
static void test_lengths(void **state)
{
	static const struct {
		size_t length;
		const char *hash;
	} files[] = {
		{0, "af5570f5a1810b7af78caf4bc70a660f"},
		{1, "52807a4607ea5debf0b7d4ccb452f4af"},
		{4095, "770c9562e0bb264672773e0eba6236c5"},
		{4096, "6c3376bc183b0a4994bc0b2c2c9d8b05"},
		{5000, "8fcb735ccf036663f4dc178cf6653aac"},
		{8192, "a7b0097f07ff25b7b48b13edc4aa7939"},
		{100000, "4feba4f4dcc392647124e0ac3e1dfdd3"},
	};
	char hash[HEX_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		hash_file(files[i].length, hash);
		assert_string_equal(hash, files[i].hash);
	}
}

static void test_unreadable(void **state)
{
	static const uint8_t none[ELF_HTLHASH_BYTES];
	uint8_t hash[ELF_HTLHASH_BYTES];
	int ends[2];

	(void)state;
	memset(hash, 0x55, sizeof(hash));
	assert_false(htlhash_read(-1, hash));
	assert_memory_equal(hash, none, sizeof(none));
	/* What cannot be read at an offset. */
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	memset(hash, 0x55, sizeof(hash));
	assert_false(htlhash_read(ends[0], hash));
	assert_memory_equal(hash, none, sizeof(none));
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests_name("htlhash", tests, NULL, NULL);
}
