/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/symbols/symtab.h"
#include "tests/unit/symbols/symbol_at.h"

static const char text[] = "0000000000001000 A fixed_percpu_data\n"
			   "ffffffff81000000 T srso_alias_untrain_ret\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000040 t local_name\n"
			   "ffffffff81000040 W weak_name\n"
			   "ffffffff81000100 T schedule\n"
			   "ffffffff81000180 T _etext\n"
			   "ffffffff81000200 D jiffies\n"
			   "ffffffffc0001000 t fs_write\t[ext4]\n"
			   "ffffffffc0001010 t fs_read\t[ext4]\n"
			   "ffffffffc0001020 d fs_table\t[ext4]\n"
			   "ffffffffc0002000 t fs_write\t[ext4_more]\n"
			   "ffffffffc0003000 t bpf_prog_0123 [bpf]";

static void test_kernel(void **state)
{
	cleanup(symtab_freep) struct symtab *s = NULL;
	uint64_t start = 0, end = 0;

	(void)state;
	assert_int_equal(symtab_from_kallsyms(&s, text, sizeof(text) - 1, NULL), SYMTAB_E_OK);
	check_at(s, 0x1000, NULL, 0);
	check_at(s, 0xffffffff80ffffff, NULL, 0);
	check_at(s, 0xffffffff81000000, "_stext", 0xffffffff81000000);
	check_at(s, 0xffffffff8100003f, "_stext", 0xffffffff81000000);
	check_at(s, 0xffffffff81000041, "weak_name", 0xffffffff81000040);
	check_at(s, 0xffffffff81000100, "schedule", 0xffffffff81000100);
	check_at(s, 0xffffffff810001ff, "_etext", 0xffffffff81000180);
	/* Data is no function, but ends one. */
	check_at(s, 0xffffffff81000200, NULL, 0);
	check_at(s, 0xffffffffc0001000, NULL, 0);
	assert_true(symtab_kernel_text(s, &start, &end));
	assert_int_equal(start, 0xffffffff81000000);
	assert_int_equal(end, 0xffffffff81000180);
}

static void test_modules(void **state)
{
	struct symtab *s = NULL;

	(void)state;
	assert_int_equal(symtab_from_kallsyms(&s, text, sizeof(text) - 1, "ext4"), SYMTAB_E_OK);
	check_at(s, 0xffffffffc000100f, "fs_write", 0xffffffffc0001000);
	check_at(s, 0xffffffffc0001010, "fs_read", 0xffffffffc0001010);
	check_at(s, 0xffffffffc0001020, NULL, 0);
	check_at(s, 0xffffffff81000100, NULL, 0);
	assert_false(symtab_kernel_text(s, &(uint64_t){0}, &(uint64_t){0}));
	symtab_free(s);
	assert_int_equal(symtab_from_kallsyms(&s, text, sizeof(text) - 1, "bpf"), SYMTAB_E_OK);
	check_at(s, 0xffffffffc0003abc, "bpf_prog_0123", 0xffffffffc0003000);
	symtab_free(s);
	s = NULL;
	assert_int_equal(symtab_from_kallsyms(&s, text, sizeof(text) - 1, "ext"), SYMTAB_E_NONE);
	assert_null(s);
}

static void test_restricted(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 T schedule\n";
	static const char garbage[] = "\n\n T x\nzz T x\n11111111111111111 T x\n1000 T \n1000T x\n";
	struct symtab *s = NULL;

	(void)state;
	assert_int_equal(symtab_from_kallsyms(&s, hidden, sizeof(hidden) - 1, NULL), SYMTAB_E_NONE);
	assert_int_equal(symtab_from_kallsyms(&s, garbage, sizeof(garbage) - 1, NULL),
			 SYMTAB_E_NONE);
	assert_int_equal(symtab_from_kallsyms(&s, "", 0, NULL), SYMTAB_E_NONE);
	assert_null(s);
}

/* As many lines as a kernel has, in no order: each address finds its own symbol. */
static void test_many(void **state)
{
	const uint32_t n = 122000;
	cleanup(freep) char *lines = malloc(n * 64ul);
	cleanup(symtab_freep) struct symtab *s = NULL;
	size_t length = 0;
	char name[32];

	(void)state;
	assert_non_null(lines);
	for (uint32_t i = 0; i < n; i++) {
		/* 7919 is prime to n: each number below n comes once. */
		uint32_t k = (uint32_t)(i * 7919ull % n);

		length += (size_t)sprintf(lines + length, "%016llx t function_%u\n",
					  0xffffffff81000000ull + k * 16ull, k);
	}
	assert_int_equal(symtab_from_kallsyms(&s, lines, length, NULL), SYMTAB_E_OK);
	for (uint32_t k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "function_%u", k);
		check_at(s, 0xffffffff81000000ull + k * 16ull + 15, name,
			 0xffffffff81000000ull + k * 16ull);
	}
	/* 17 bytes a symbol and the names. */
	assert_true(symtab_bytes(s) < n * (17 + 16ul) + 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_restricted),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
