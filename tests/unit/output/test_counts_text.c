/* SPDX-License-Identifier: MIT */
#include "daemon/output/counts_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_there_and_back(void **state)
{
	const struct index_counts counts[] = {
		{5940, UINT64_C(59400000000), 0, {3900, 127}, false},
		{0},
		{UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, {UINT32_MAX, INDEX_PEAK_AT_MAX}, true},
		{1, 0, 7, {0}, true},
	};
	char text[4 * COUNTS_TEXT_MAX];
	struct index_counts back[4];
	size_t length = counts_text_print(counts, 4, text);

	(void)state;
	assert_int_equal(length, strlen(text));
	assert_string_equal(text,
			    "5940:59400000000:3900@127 0:0 18446744073709551614:"
			    "18446744073709551615:4294967295@864000~18446744073709551615! 1:0~7!");
	assert_true(counts_text_parse(text, back, 4));
	assert_memory_equal(back, counts, sizeof(counts));
	assert_false(counts_text_parse(text, back, 3));
	/* As earlier profds wrote hours. */
	assert_true(counts_text_parse("5:7 0:0 ", back, 2));
	assert_int_equal(back[0].cpu_ns, 7);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"",
		"1",
		"1:",
		"1:2:",
		"1:2:3",
		"1:2:3@",
		"1:2:@4",
		":2",
		"-1:2",
		" 1:2",
		"1:2  ",
		"1:2x",
		"1:2:3@4@5",
		"1:2!!",
		"1:2~",
		"1:2~-1",
		"1:2~18446744073709551616",
		"1:2!~1",
		"1~2:3",
		"1!:2",
		"!",
		"1:2:3@864001",
		"1:2:4294967296@1",
		"1: 2",
		"+1:2",
		"18446744073709551615:0",
		"1:18446744073709551616",
		"1:2 3:4",
	};
	struct index_counts back;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (counts_text_parse(texts[i], &back, 1))
			fail_msg("'%s' is accepted", texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
