/* SPDX-License-Identifier: MIT */
/* The counter of code objects, in machine code of compilers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/worker/runtime/python_count.h"

#define ADDRESS 0x10000
#define BEGIN   60 /* of the code, which is between other code */

static uint64_t find_count(const char *text, size_t n, unsigned copies)
{
	uint8_t code[512];
	size_t at = BEGIN;

	memset(code, 0x90, sizeof(code));
	for (unsigned i = 0; i < copies; i++, at += n)
		memcpy(code + at, text, n);
	return python_find_count(code, sizeof(code), ADDRESS);
}

/* gcc, in a library: lea counter(%rip), %rdx .. mov (%rdx), %eax; mov %eax, 0x5c(%rbx) .. */
#define SHARED                                                                                   \
	"\x48\x8d\x15\0\x10\0\0\x66\x0f\x6e\xe0\x8b\x02\x0f\x11\x43\x48\x89\x43\x5c\x85\xc0\x74" \
	"\x05\x83\xc0\x01\x89\x02"
/* clang: inc, other registers */
#define OTHER "\x48\x8d\x05\0\x10\0\0\x8b\x08\x41\x89\x4e\x5c\x85\xc9\x74\x04\xff\xc1\x89\x08"
/* gcc, in a program: mov counter(%rip), %eax .. */
#define PROGRAM                                                                                \
	"\x8b\x05\x19\x10\0\0\x0f\x11\x43\x48\x89\x43\x5c\x85\xc0\x74\x09\x83\xc0\x01\x89\x05" \
	"\x05\x10\0\0"

static void test_find(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		uint64_t found;
	} codes[] = {
		{SHARED, sizeof(SHARED) - 1, ADDRESS + BEGIN + 0x1007},
		{OTHER, sizeof(OTHER) - 1, ADDRESS + BEGIN + 0x1007},
		{PROGRAM, sizeof(PROGRAM) - 1, ADDRESS + BEGIN + 0x101f},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++) {
		char code[64];

		assert_int_equal(find_count(codes[i].code, codes[i].n, 1), codes[i].found);
		/* Two places; less. */
		assert_int_equal(find_count(codes[i].code, codes[i].n, 2), 0);
		for (size_t n = 0; n < codes[i].n; n++)
			assert_int_equal(find_count(codes[i].code, n, 1), 0);
		/* The number is not the version; it is not stored where it is from. */
		memcpy(code, codes[i].code, codes[i].n);
		*strchr(code + 8, 0x5c) = 0x58;
		assert_int_equal(find_count(code, codes[i].n, 1), 0);
		memcpy(code, codes[i].code, codes[i].n);
		code[codes[i].n - (i == 2 ? 4 : 1)] ^= 1;
		assert_int_equal(find_count(code, codes[i].n, 1), 0);
	}
	assert_int_equal(python_find_count(NULL, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_find)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
