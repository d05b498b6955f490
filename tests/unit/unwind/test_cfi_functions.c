/* SPDX-License-Identifier: MIT */

/* What the compiler of call frame information makes of many functions, of two sections, and of what
 * lies between functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "tests/support/rule_unpack.h"
#include "tests/unit/unwind/test_cfi_bytes.h"

static void test_places(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	put_usual_cie(&s);
	put_fde(&s, 0x200, 0x20, "\x0e\x20", 2);
	put_fde(&s, 0x100, 0x20, "", 0);
	put_fde(&s, 0x120, 0x20, "", 0);                     /* the same rule goes on */
	put_fde(&s, 0x210, 0x20, "\x0e\x28\x58\x0e\x30", 5); /* half of it was told before */
	put_fde(&s, 0x204, 0x08, "\x0e\x38", 2);             /* all of it */
	put_fde(&s, 0xff0, 0x100, "\x0e\x40", 2);            /* half of it is in no segment */
	put_fde(&s, 0x1000, 0x10, "", 0);                    /* all of it */
	put_fde(&s, -TEXT, 0x10, "", 0);                     /* dropped by a linker */
	put_fde(&s, 0x300, 0, "", 0);
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rows->rows[0].offset, TEXT_OFFSET + 0x100);
	assert_int_equal(rule_at(rows, 0x100), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_at(rows, 0x13f), plain(RULE_BASE_SP, 8));
	assert_int_equal(rule_at(rows, 0x140), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rule_at(rows, 0x1ff), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rule_at(rows, 0x21f), plain(RULE_BASE_SP, 0x20));
	assert_int_equal(rule_at(rows, 0x220), plain(RULE_BASE_SP, 0x28));
	assert_int_equal(rule_at(rows, 0x228), plain(RULE_BASE_SP, 0x30));
	assert_int_equal(rule_at(rows, 0x230), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rule_at(rows, 0xfff), plain(RULE_BASE_SP, 0x40));
	assert_int_equal(rule_at(rows, 0x1000), RULE_WORD(RULE_UNKNOWN));
	assert_int_equal(rows->n_rows, 8);
	assert_int_equal(rows->counters.malformed, 0);
	assert_int_equal(rows->counters.fdes, 5);
	cfi_rows_free(rows);
}

/* As test_places() has them. */
static void test_functions(void **state)
{
	struct cfi_function *all = NULL;
	struct cfi_input input;
	struct section s;
	size_t n = 0;

	(void)state;
	section_init(&s, EM_X86_64);
	put_usual_cie(&s);
	input = section_input(&s);
	assert_int_equal(cfi_list_functions(&all, &n, &input), CFI_E_NONE);
	put_fde(&s, 0x200, 0x20, "", 0);
	put_fde(&s, 0x100, 0x20, "\x0e", 1); /* where it is can be told, if not what it rules */
	put_fde(&s, 0x120, 0x10, "", 0);
	put_fde(&s, 0x210, 0x20, "", 0); /* begins in another */
	put_fde(&s, 0xff0, 0x100, "", 0);
	put_fde(&s, 0x1000, 0x10, "", 0);
	put_fde(&s, 0x300, 0, "", 0);
	input = section_input(&s);
	assert_int_equal(cfi_list_functions(&all, &n, &input), CFI_E_OK);
	assert_int_equal(n, 4);
	assert_int_equal(all[0].start, TEXT + 0x100);
	assert_int_equal(all[0].end, TEXT + 0x120);
	assert_int_equal(all[1].start, TEXT + 0x120);
	assert_int_equal(all[1].end, TEXT + 0x130);
	assert_int_equal(all[2].start, TEXT + 0x200);
	assert_int_equal(all[2].end, TEXT + 0x220);
	assert_int_equal(all[3].start, TEXT + 0xff0);
	assert_int_equal(all[3].end, TEXT + 0x1000);
	free(all);
	input.machine = EM_386;
	assert_int_equal(cfi_list_functions(&all, &n, &input), CFI_E_UNSUPPORTED);
}

/* A CIE of .debug_frame, whose bytes begin at @begin, in the format of 32 or 64 bits. */
static size_t put_debug_cie(struct section *s, size_t begin, unsigned id_bytes)
{
	size_t at = s->frame.n;

	if (id_bytes == 8)
		put(&s->frame, UINT32_MAX, 4);
	put(&s->frame, id_bytes + 12, id_bytes);
	put(&s->frame, UINT64_MAX, id_bytes);
	put_bytes(&s->frame, "\4\0\x8\0\1\x78\x10\x0c\x07\x08\x90\1", 12);
	return at - begin;
}

/* Its program: the CFA is @distance bytes above rsp. */
static void put_debug_fde(struct section *s, uint64_t cie, uint64_t from, uint64_t length,
			  uint8_t distance, unsigned id_bytes)
{
	if (id_bytes == 8)
		put(&s->frame, UINT32_MAX, 4);
	put(&s->frame, id_bytes + 18, id_bytes);
	put(&s->frame, cie, id_bytes);
	put(&s->frame, TEXT + from, 8);
	put(&s->frame, length, 8);
	put(&s->frame, 0x0e, 1);
	put(&s->frame, distance, 1);
}

/* Of code that both describe, .eh_frame counts, which may end before it ends. */
static void test_debug_frame(void **state)
{
	struct cfi_rows *rows = NULL;
	struct section s;
	size_t begin, cie;

	(void)state;
	for (int i = 0; i < 4; i++) {
		unsigned id_bytes = i % 2 ? 8 : 4;

		section_init(&s, EM_X86_64);
		if (i < 2) {
			put_usual_cie(&s);
			put_fde(&s, 0x100, 0x20, "\x0e\x20", 2);
			put(&s.frame, 0, 4);
			put_usual_cie(&s);
		}
		begin = s.frame.n;
		put_debug_fde(&s, 1000, 0x400, 0x20, 0x48, id_bytes); /* of no CIE */
		cie = put_debug_cie(&s, begin, id_bytes);
		put_debug_fde(&s, cie, 0x100, 0x30, 0x28, id_bytes);
		put_debug_fde(&s, cie, 0x200, 0x20, 0x30, id_bytes);
		put_debug_fde(&s, begin ? 0 : 2, 0x300, 0x20, 0x38, id_bytes); /* of none either */
		put_debug_fde(&s, cie, 0x220, 0x20, 0x40, id_bytes);
		s.debug_length = s.frame.n - begin;
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rule_at(rows, 0x100), plain(RULE_BASE_SP, begin ? 0x20 : 0x28));
		assert_int_equal(rule_at(rows, 0x12f), plain(RULE_BASE_SP, 0x28));
		assert_int_equal(rule_at(rows, 0x130), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rule_at(rows, 0x21f), plain(RULE_BASE_SP, 0x30));
		assert_int_equal(rule_at(rows, 0x220), plain(RULE_BASE_SP, 0x40));
		assert_int_equal(rule_at(rows, 0x240), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rule_at(rows, 0x310), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rule_at(rows, 0x410), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rows->counters.malformed, 3); /* what is no CIE as well */
		assert_int_equal(rows->counters.fdes, begin ? 4 : 3);
		cfi_rows_free(rows);
		s.frame.n--; /* cut */
		s.debug_length--;
		assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
		assert_int_equal(rule_at(rows, 0x21f), plain(RULE_BASE_SP, 0x30));
		assert_int_equal(rule_at(rows, 0x220), RULE_WORD(RULE_UNKNOWN));
		cfi_rows_free(rows);
	}
}

/* What read_code finds: a clone at one file offset. */
static bool read_a_clone(const void *userdata, uint32_t offset, void *ret, size_t length)
{
	if (offset != *(const uint32_t *)userdata)
		return false;
	memcpy(ret, "\x0f\x05\x48\x85\xc0", length);
	return true;
}

/* The rule at @at, between FDEs that end there and begin again at @end. */
static uint64_t rule_of_gap(uint32_t at, uint32_t end, const char *program, uint16_t machine,
			    uint32_t clone_at)
{
	struct cfi_limits limits = {.max_rows = 100, .max_rules = 100};
	struct cfi_rows *rows = NULL;
	struct cfi_input input;
	struct section s;
	uint64_t rule;

	section_init(&s, machine);
	put_usual_cie(&s);
	put_fde(&s, 0x100, at - 0x100, program, strlen(program));
	put_fde(&s, end, 0x20, "\x0e\x20", 2);
	input = section_input(&s);
	if (clone_at) {
		input.read_code = read_a_clone;
		input.read_code_userdata = &clone_at;
	}
	assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_OK);
	rule = rule_at(rows, at);
	assert_int_equal(rule_at(rows, end - 1), rule);
	assert_int_not_equal(rule_at(rows, end), rule);
	cfi_rows_free(rows);
	return rule;
}

static void test_gaps_that_clone(void **state)
{
	const uint64_t clone = plain(RULE_BASE_SP, 0x10) ^ RULE_CFA ^ RULE_CLONE;
	const uint64_t none = RULE_WORD(RULE_UNKNOWN);

	(void)state;
	assert_int_equal(rule_of_gap(0x117, 0x121, "\x0e\x10", EM_X86_64, TEXT_OFFSET + 0x117),
			 clone);
	/* It may be padding; too long; other code; by another register; unreadable; another
	 * machine. */
	assert_int_equal(rule_of_gap(0x117, 0x120, "\x0e\x10", EM_X86_64, TEXT_OFFSET + 0x117),
			 none);
	assert_int_equal(rule_of_gap(0x117, 0x128, "\x0e\x10", EM_X86_64, TEXT_OFFSET + 0x117),
			 none);
	assert_int_equal(rule_of_gap(0x117, 0x121, "\x0e\x10", EM_X86_64, TEXT_OFFSET + 0x118),
			 none);
	assert_int_equal(rule_of_gap(0x117, 0x121, "\x0e\x10\x0d\x06", EM_X86_64,
				     TEXT_OFFSET + 0x117),
			 none);
	assert_int_equal(rule_of_gap(0x117, 0x121, "\x0e\x10", EM_X86_64, 0), none);
	assert_int_equal(rule_of_gap(0x11a, 0x121, "\x0e\x10", EM_X86_64, TEXT_OFFSET + 0x11a),
			 none);
	assert_int_equal(rule_of_gap(0x118, 0x124, "", EM_AARCH64, TEXT_OFFSET + 0x118), none);
}

/* A malformed FDE behind such a gap leaves nothing of it behind. */
static void test_gap_before_what_is_malformed(void **state)
{
	const uint32_t clone_at = TEXT_OFFSET + 0x117;
	const struct cfi_limits limits = {.max_rows = 100, .max_rules = 100};

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct cfi_rows *rows = NULL;
		struct cfi_input input;
		struct section s;

		section_init(&s, EM_X86_64);
		put_usual_cie(&s);
		put_fde(&s, 0x100, 0x17, "\x0e\x10", 2);
		put_fde(&s, 0x121, 0x20, "\x3f", 1);
		if (more)
			put_fde(&s, 0x141, 0x20, "\x0e\x20", 2);
		input = section_input(&s);
		input.read_code = read_a_clone;
		input.read_code_userdata = &clone_at;
		assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_OK);
		for (size_t i = 1; i < rows->n_rows; i++)
			assert_true(rows->rows[i - 1].offset < rows->rows[i].offset);
		assert_int_equal(rule_at(rows, 0x117), RULE_WORD(RULE_UNKNOWN));
		assert_int_equal(rows->counters.malformed, 1);
		cfi_rows_free(rows);
	}
}

/* In .debug_frame each object file has its own CIE, and none is merged. */
static void test_many_cies(void **state)
{
	enum { N = 700 };
	struct cfi_rows *rows = NULL;
	struct section s;

	(void)state;
	section_init(&s, EM_X86_64);
	for (unsigned i = 0; i < N; i++) {
		put_debug_fde(&s, put_debug_cie(&s, 0, 4), 4 * i, 4, i % 2 ? 0x10 : 0x18, 4);
		put(&s.frame, 0, i % 2 * 4); /* padding */
	}
	s.debug_length = s.frame.n;
	assert_int_equal(section_compile(&s, &rows), CFI_E_OK);
	assert_int_equal(rows->counters.fdes, N);
	assert_int_equal(rule_at(rows, 4 * N - 1), plain(RULE_BASE_SP, 0x10));
	cfi_rows_free(rows);
}

/* Of tables that are too large with .debug_frame the rest remains. */
static void test_too_much_with_debug_frame(void **state)
{
	const struct cfi_limits limits = {.max_rows = 4, .max_rules = 100};
	struct cfi_rows *rows = NULL;
	struct cfi_input input;
	struct section s;
	size_t begin, cie;

	(void)state;
	section_init(&s, EM_X86_64);
	put_usual_cie(&s);
	put_fde(&s, 0x100, 0x20, "\x0e\x20", 2);
	begin = s.frame.n;
	cie = put_debug_cie(&s, begin, 4);
	for (unsigned i = 0; i < 4; i++)
		put_debug_fde(&s, cie, 0x200 + 0x20 * i, 0x20, 0x28 + 8 * i, 4);
	s.debug_length = s.frame.n - begin;
	input = section_input(&s);
	assert_int_equal(cfi_compile(&rows, &input, &limits), CFI_E_OK);
	assert_int_equal(rule_at(rows, 0x100), plain(RULE_BASE_SP, 0x20));
	assert_int_equal(rule_at(rows, 0x200), RULE_WORD(RULE_UNKNOWN));
	cfi_rows_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_gaps_that_clone),
		cmocka_unit_test(test_gap_before_what_is_malformed),
		cmocka_unit_test(test_many_cies),
		cmocka_unit_test(test_too_much_with_debug_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
