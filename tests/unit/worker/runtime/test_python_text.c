/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/utf8.h"
#include "daemon/worker/runtime/python_text.h"

static void check(const void *data, size_t length, unsigned width, size_t size,
		  const char *expected)
{
	char text[64];

	assert_true(python_text(data, length, width, text, size) < size);
	assert_string_equal(text, expected);
	assert_true(utf8_is_valid(text));
}

static void test_text(void **state)
{
	static const uint16_t two[] = {'a', 0x4e2d, 0xd800, '\n'};
	static const uint32_t four[] = {'a', 0x1f600, 0x110000};

	(void)state;
	check("f.<locals>.g", 12, 1, 64, "f.<locals>.g");
	check("caf\xe9\x1b\x9b", 6, 1, 64, "caf\xc3\xa9??");
	check(two, sizeof(two), 2, 64, "a\xe4\xb8\xad" UTF8_REPLACEMENT "?");
	check(two, 5, 2, 64, "a\xe4\xb8\xad");
	check(four, sizeof(four), 4, 64, "a\xf0\x9f\x98\x80" UTF8_REPLACEMENT);
	/* No half characters; widths that there are not. */
	check(two, sizeof(two), 2, 4, "a");
	check("abc", 3, 1, 1, "");
	check("abc", 3, 0, 64, "");
	check("abc", 3, 3, 64, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
