/* SPDX-License-Identifier: MIT */

/* The records of .eh_frame and the table of .eh_frame_hdr, as the compiler takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/unwind/cfi_private.h"
#include "tests/unit/unwind/test_cfi_bytes.h"

#define GOT UINT64_C(0x600000)

static void test_leb128(void **state)
{
	static const struct {
		uint8_t bytes[40];
		size_t n;
		uint64_t value;
		int64_t signed_value;
		bool bad;
	} numbers[] = {
		{{0x00}, 1, 0, 0, false},
		{{0x7f}, 1, 127, -1, false},
		{{0x80, 0x7f}, 2, 16256, -128, false},
		{{0xe5, 0x8e, 0x26}, 3, 624485, 624485, false},
		{{0x81, 0x80, 0x80, 0x00}, 4, 1, 1, false},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		 10,
		 UINT64_MAX,
		 -1,
		 false},
		{{0x80}, 1, 0, 0, true},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
		 34,
		 0,
		 0,
		 true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct cfi_reader r = {numbers[i].bytes, numbers[i].bytes + numbers[i].n, false};

		assert_int_equal(cfi_uleb(&r), numbers[i].value);
		assert_int_equal(r.bad, numbers[i].bad);
		assert_true(r.bad || r.at == r.end);
		r = (struct cfi_reader){numbers[i].bytes, numbers[i].bytes + numbers[i].n, false};
		assert_int_equal(cfi_sleb(&r), numbers[i].signed_value);
		assert_int_equal(r.bad, numbers[i].bad);
	}
}

/* Each encoding, at an odd place of .eh_frame. */
static void test_pointers(void **state)
{
	static const struct {
		uint8_t encoding;
		uint8_t bytes[16];
		size_t n;
		uint64_t value;
	} pointers[] = {
		{0x00, {1, 2, 3, 4, 5, 6, 7, 8}, 8, 0x0807060504030201},
		{0x08, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, UINT64_MAX},
		{0x01, {0x80, 0x02}, 2, 0x100},
		{0x02, {0xfe, 0xff}, 2, 0xfffe},
		{0x03, {0xfe, 0xff, 0xff, 0xff}, 4, 0xfffffffe},
		{0x04, {0xfe, 0, 0, 0, 0, 0, 0, 0xff}, 8, 0xff000000000000fe},
		{0x09, {0x7e}, 1, (uint64_t)-2},
		{0x0a, {0xfe, 0xff}, 2, (uint64_t)-2},
		{0x0b, {0xfe, 0xff, 0xff, 0xff}, 4, (uint64_t)-2},
		{0x0c, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, (uint64_t)-2},
		{0x1a, {0xfe, 0xff}, 2, FRAME + 1 - 2},
		{0x1b, {2, 0, 0, 0}, 4, FRAME + 1 + 2},
		{0x1b, {0, 0, 0, 0}, 4, 0},
		{0x3b, {0xf0, 0xff, 0xff, 0xff}, 4, GOT - 16},
		{0x50, {9, 9, 9, 9, 9, 9, 9, 1, 2, 0, 0, 0, 0, 0, 0}, 15, 0x201},
	};
	static const uint8_t meaningless[] = {0xff, 0x05, 0x0f, 0x2b, 0x4b, 0x6b, 0x7b};
	uint8_t data[32] = {0};
	struct cfi_input input = {.frame = {data, sizeof(data), FRAME}, .got_address = GOT};
	struct cfi_reader r;
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		memcpy(data + 1, pointers[i].bytes, pointers[i].n);
		r = cfi_reader_at(&input.frame, 1, 1 + pointers[i].n);
		assert_true(cfi_pointer(&input, &r, pointers[i].encoding, &value));
		assert_int_equal(value, pointers[i].value);
		assert_ptr_equal(r.at, r.end);
		r = cfi_reader_at(&input.frame, 1, pointers[i].n);
		if (pointers[i].encoding != 0x01)
			assert_false(cfi_pointer(&input, &r, pointers[i].encoding, &value));
	}
	for (size_t i = 0; i < sizeof(meaningless); i++) {
		r = cfi_reader_at(&input.frame, 0, sizeof(data));
		assert_false(cfi_pointer(&input, &r, meaningless[i], &value));
	}
	/* Without a base. */
	input.got_address = 0;
	r = cfi_reader_at(&input.frame, 0, sizeof(data));
	assert_false(cfi_pointer(&input, &r, 0x3b, &value));
}

/* The CIE's body by hand. Returns what cfi_cie_parse() does. */
static int parse_cie(const void *body, size_t n, struct cfi_cie *ret)
{
	struct cfi_input input;
	struct section s;
	size_t at;

	section_init(&s, EM_X86_64);
	at = begin_record(&s);
	put(&s.frame, 0, 4);
	put_bytes(&s.frame, body, n);
	end_record(&s, at);
	input = section_input(&s);
	return cfi_cie_parse(&input, 0, ret);
}

static void test_cies(void **state)
{
	struct cfi_cie cie;

	(void)state;
	assert_int_equal(parse_cie("\1\0\1\x78\x10", 5, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.code_align, 1);
	assert_int_equal(cie.data_align, -8);
	assert_int_equal(cie.return_column, 16);
	assert_int_equal(cie.pointer_encoding, 0);
	assert_int_equal(cie.program, 13);
	assert_false(cie.has_length || cie.is_signal);
	/* Version 3: the return column is an LEB128. */
	assert_int_equal(parse_cie("\3\0\4\x7c\x90\x01", 6, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.return_column, 0x90);
	assert_int_equal(cie.data_align, -4);
	/* Version 4: sizes of an address and a selector. */
	assert_int_equal(parse_cie("\4\0\x08\0\1\x78\x10", 7, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.return_column, 16);
	assert_int_equal(parse_cie("\4\0\x04\0\1\x78\x10", 7, &cie), CFI_RECORD_MALFORMED);
	assert_int_equal(parse_cie("\4\0\x08\1\1\x78\x10", 7, &cie), CFI_RECORD_MALFORMED);
	assert_int_equal(parse_cie("\2\0\1\x78\x10", 5, &cie), CFI_RECORD_MALFORMED);
	/* All letters; an aligned personality; one that is omitted; the one of old compilers. */
	assert_int_equal(parse_cie("\1zSPLRBG\0\1\x78\x10\7\x9b\1\2\3\4\x1b\x1b\x0c", 21, &cie),
			 CFI_RECORD_OK);
	assert_int_equal(cie.pointer_encoding, 0x1b);
	assert_true(cie.is_signal && cie.has_length);
	assert_int_equal(cie.program, 28);
	assert_int_equal(parse_cie("\1zPR\0\1\x78\x10\x0e\x50zzzzzz12345678\x1b", 25, &cie),
			 CFI_RECORD_MALFORMED);
	assert_int_equal(parse_cie("\1zPR\0\1\x78\x10\x10\x50zzzzzz12345678\x1b", 25, &cie),
			 CFI_RECORD_OK);
	assert_int_equal(cie.pointer_encoding, 0x1b);
	assert_int_equal(parse_cie("\1zPR\0\1\x78\x10\2\xff\x1b", 11, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.pointer_encoding, 0x1b);
	assert_int_equal(parse_cie("\1eh\0\1\2\3\4\5\6\7\x08\1\x78\x10", 15, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.data_align, -8);
	/* A letter that nobody knows: what is behind it is skipped, or is not understood. */
	assert_int_equal(parse_cie("\1zRX\0\1\x78\x10\3\x1b\5\6\x0c", 13, &cie), CFI_RECORD_OK);
	assert_int_equal(cie.pointer_encoding, 0x1b);
	assert_int_equal(cie.program, 20);
	assert_int_equal(parse_cie("\1X\0\1\x78\x10", 6, &cie), CFI_RECORD_MALFORMED);
	/* Data that is longer than the record; a name without an end. */
	assert_int_equal(parse_cie("\1zR\0\1\x78\x10\x20\x1b", 9, &cie), CFI_RECORD_MALFORMED);
	assert_int_equal(parse_cie("\1zRRRRRRRRRRRRRRRRR", 20, &cie), CFI_RECORD_MALFORMED);
}

static void test_long_records(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	put_usual_cie(&s);
	put(&s.frame, 0xffffffff, 4);
	put(&s.frame, 16, 8);
	put(&s.frame, s.frame.n - s.cie, 4);
	put(&s.frame, TEXT - (FRAME + s.frame.n), 4);
	put(&s.frame, 0x10, 4);
	put(&s.frame, 0x100e00, 4);
	put_fde(&s, 0x10, 0x10, "", 0);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rule_at(rows, 0), plain(RULE_BASE_SP, 16));
	assert_int_equal(rule_at(rows, 0x10), plain(RULE_BASE_SP, 8));
	assert_int_equal(rows->counters.fdes, 2);
	cfi_rows_free(rows);
}

/* A terminator ends the list; a record that is too long does as well, and counts. */
static void test_ends(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	for (int i = 0; i < 2; i++) {
		section_init(&s, EM_X86_64);
		put_usual_cie(&s);
		put_fde(&s, 0, 0x10, "", 0);
		put(&s.frame, i ? 0x1000 : 0, 4);
		put(&s.frame, 0, 4);
		put_fde(&s, 0x10, 0x10, "", 0);
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rows->counters.fdes, 1);
		assert_int_equal(rows->counters.malformed, i);
		cfi_rows_free(rows);
	}
}

/* FDEs whose CIE is none, is broken, or is not there; others go on. */
static void test_lost_cies(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;
	size_t at;

	(void)state;
	section_init(&s, EM_X86_64);
	put_cie(&s, "", 16, "\x0b", 1);
	put_fde(&s, 0x40, 0x10, "", 0);
	put_usual_cie(&s);
	at = put_fde(&s, 0, 0x10, "", 0);
	s.cie = at;
	put_fde(&s, 0x10, 0x10, "", 0);
	s.cie = (size_t)-4096;
	put_fde(&s, 0x20, 0x10, "", 0);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rows->counters.fdes, 1);
	/* Two CIEs, three FDEs, all but one of these. */
	assert_int_equal(rows->counters.malformed, 5);
	assert_int_equal(rows->n_rows, 2);
	cfi_rows_free(rows);
}

/*
 * Each of many CIEs lasts to the end of all, which is its augmentation data: what is read must not
 * grow with the square.
 */
static void test_nested_records(void **state)
{
	const size_t n = 400, size = 20;
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	for (size_t i = 0; i < n; i++) {
		size_t rest = (n - i) * size - 17;

		put(&s.frame, (n - i) * size - 4, 4);
		put(&s.frame, 0, 4);
		put_bytes(&s.frame, "\x01zR\0\x01\x78\x10", 7);
		put(&s.frame, (rest & 0x7f) | 0x80 | rest >> 7 << 8, 2);
		put(&s.frame, 0x1b, 3);
	}
	for (size_t i = 0; i < n; i++) {
		put(&s.frame, size - 4, 4);
		put(&s.frame, s.frame.n - i * size, 4);
		put(&s.frame, TEXT + i * 4 - (FRAME + s.frame.n), 4);
		put(&s.frame, 4, 4);
		put(&s.frame, 0, 4);
	}
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	/* The first two, and the last, which is short. */
	assert_int_equal(rows->counters.fdes, 3);
	assert_int_equal(rows->counters.malformed, 2 * (n - 3));
	cfi_rows_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leb128),         cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_cies),           cmocka_unit_test(test_long_records),
		cmocka_unit_test(test_ends),           cmocka_unit_test(test_lost_cies),
		cmocka_unit_test(test_nested_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
