/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/analysis/json_text.h"

static void assert_written(const char *text, const char *wanted)
{
	char *seen;
	size_t length;
	FILE *out = open_memstream(&seen, &length);

	assert_non_null(out);
	json_text_write(out, text);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(seen, wanted);
	free(seen);
}

static void texts_of_any_bytes(void **state)
{
	(void)state;
	assert_written("", "\"\"");
	assert_written("a\"b\\c/\n\t\x01\x7f", "\"a\\\"b\\\\c/\\n\\t\\u0001\\u007f\"");
	assert_written("</script><!--", "\"\\u003c/script>\\u003c!--\"");
	assert_written("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", "\"\\u2028\\u2029\xe2\x80\xa7\"");
	/* A terminal's C1, and what turns a text around. */
	assert_written("\xc2\x9b\xd8\x9c\xe2\x80\xae", "\"\\u009b\\u061c\\u202e\"");
	assert_written("\xc3\xa9\xf0\x9d\x92\xbb", "\"\xc3\xa9\xf0\x9d\x92\xbb\"");
	/* An end without a beginning, a beginning without an end, a surrogate. */
	assert_written("\xbfx\xe2\x80", "\"\\ufffdx\\ufffd\\ufffd\"");
	assert_written("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
}

static void numbers_of_a_list(void **state)
{
	static const int64_t numbers[] = {0, -1, 10, INT64_MAX, INT64_MIN, -90};
	char *seen;
	size_t length;
	FILE *out = open_memstream(&seen, &length);

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_list_number(out, !i, numbers[i]);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(seen, "0,-1,10,9223372036854775807,-9223372036854775808,-90");
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_any_bytes),
		cmocka_unit_test(numbers_of_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
