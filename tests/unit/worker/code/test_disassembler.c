/* SPDX-License-Identifier: MIT */
/* Bytes whose meaning the processors' manuals tell. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/worker/code/disassembler.h"

#define AT 0x1000

struct expected {
	const char *bytes;
	uint32_t n_bytes; /* given */
	uint32_t size;    /* of the instruction */
	const char *text;
	unsigned kind;
	uint64_t target;
};

static void check(uint16_t machine, bool intel, const struct expected *expected, size_t n)
{
	struct disassembler *d = NULL;
	struct instruction i;

	assert_int_equal(disassembler_new(&d, machine, intel), DISASSEMBLER_E_OK);
	for (size_t k = 0; k < n; k++) {
		const struct expected *e = &expected[k];

		disassembler_get(d, (const uint8_t *)e->bytes, e->n_bytes, AT, &i);
		assert_string_equal(i.text, e->text);
		assert_int_equal(i.size, e->size);
		assert_int_equal(i.target_kind, e->kind);
		if (e->kind)
			assert_int_equal(i.target, e->target);
	}
	disassembler_free(d);
}

static void test_att(void **state)
{
	static const struct expected expected[] = {
		{"\x48\x89\xe5\xcc", 4, 3, "movq %rsp, %rbp", TARGET_NONE, 0},
		{"\xc3", 1, 1, "retq", TARGET_NONE, 0},
		{"\xe8\x0b\0\0\0", 5, 5, "callq 0x1010", TARGET_CODE, 0x1010},
		{"\x75\xfe", 2, 2, "jne 0x1000", TARGET_CODE, 0x1000},
		/* Not direct. */
		{"\xff\xe0", 2, 2, "jmpq *%rax", TARGET_NONE, 0},
		{"\x48\x8d\x05\x01\0\0\0", 7, 7, "leaq 1(%rip), %rax", TARGET_DATA, 0x1008},
		/* None, and one that is cut. */
		{"\x06\x90", 2, 1, "(bad)", TARGET_NONE, 0},
		{"\x48\x89", 2, 1, "(bad)", TARGET_NONE, 0},
		{"\x48", 1, 1, "(bad)", TARGET_NONE, 0},
	};

	(void)state;
	check(EM_X86_64, false, expected, sizeof(expected) / sizeof(*expected));
}

static void test_intel(void **state)
{
	static const struct expected expected[] = {
		{"\x48\x89\xe5", 3, 3, "mov rbp, rsp", TARGET_NONE, 0},
		{"\xe8\x0b\0\0\0", 5, 5, "call 0x1010", TARGET_CODE, 0x1010},
	};
	static const struct expected in_32_bit[] = {
		{"\x89\xe5", 2, 2, "mov ebp, esp", TARGET_NONE, 0},
		{"\x06", 1, 1, "push es", TARGET_NONE, 0},
	};

	(void)state;
	check(EM_X86_64, true, expected, sizeof(expected) / sizeof(*expected));
	check(EM_386, true, in_32_bit, sizeof(in_32_bit) / sizeof(*in_32_bit));
}

static void test_arm(void **state)
{
	static const struct expected expected[] = {
		{"\xc0\x03\x5f\xd6", 4, 4, "ret", TARGET_NONE, 0},
		{"\x04\0\0\x94", 4, 4, "bl #0x1010", TARGET_CODE, 0x1010},
		{"\x40\0\0\xb4", 4, 4, "cbz x0, #0x1008", TARGET_CODE, 0x1008},
		{"\x80\0\0\x10", 4, 4, "adr x0, #0x1010", TARGET_DATA, 0x1010},
		{"\xff\xff\xff\xff\x1f", 5, 4, "(bad)", TARGET_NONE, 0},
		{"\xc0\x03", 2, 2, "(bad)", TARGET_NONE, 0},
	};

	(void)state;
	check(EM_AARCH64, false, expected, sizeof(expected) / sizeof(*expected));
}

static void test_unknown(void **state)
{
	struct disassembler *d = NULL;

	(void)state;
	assert_int_equal(disassembler_new(&d, EM_S390, false), DISASSEMBLER_E_UNKNOWN);
	assert_null(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_att),
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
