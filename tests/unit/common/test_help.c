/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/options.h"

static void expect(const char *text, const char *printed)
{
	char *data = NULL;
	size_t size;
	FILE *f = open_memstream(&data, &size);

	assert_non_null(f);
	help_print(f, text);
	fclose(f);
	assert_string_equal(data, printed);
	free(data);
}

static void test_paragraphs(void **state)
{
	(void)state;
	expect("", "");
	expect("one", "one\n");
	expect("one\ntwo\n", "one two\n");
	expect("one\n\ntwo\n", "one\n\ntwo\n");
	/* 80 columns fit, 81 do not. */
	expect("a234567890123456789012345678901234567890 "
	       "b23456789012345678901234567890123456789 c\n",
	       "a234567890123456789012345678901234567890 b23456789012345678901234567890123456789\n"
	       "c\n");
	expect("a234567890123456789012345678901234567890 "
	       "b234567890123456789012345678901234567890 c\n",
	       "a234567890123456789012345678901234567890\n"
	       "b234567890123456789012345678901234567890 c\n");
}

static void test_rows(void **state)
{
	(void)state;
	expect("text\n  -a, --all  everything\n  -b  b\nmore\n",
	       "text\n  -a, --all  everything\n  -b  b\nmore\n");
	expect("  --name NAME  a23456789012345678901234567890 b23456789012345678901234567890 "
	       "c23456789\n",
	       "  --name NAME  a23456789012345678901234567890 b23456789012345678901234567890\n"
	       "               c23456789\n");
	/* Without a description: no column but its own. */
	expect("         an example\n", "         an example\n");
	/* One word that is too long stays whole. */
	expect("  x  a234567890123456789012345678901234567890123456789012345678901234567890123456"
	       "789\n",
	       "  x  a234567890123456789012345678901234567890123456789012345678901234567890123456"
	       "789\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paragraphs),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
