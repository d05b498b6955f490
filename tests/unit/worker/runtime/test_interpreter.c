/* SPDX-License-Identifier: MIT */
/* What code objects are called, and their lines, by interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/runtime/row.h"
#include "daemon/worker/runtime/interpreter.h"

/* Instructions 0 to 15 are line 11, the next two line 13. */
static const uint8_t table_3_11[] = {0x80 | 11 << 3 | 7, 0, 1, 0x80 | 12 << 3 | 1, 0, 1};
static const uint8_t table_3_9[] = {0, 1, 16, 2};

static struct runtime_code code_of(uint32_t version, const char *name, const char *file)
{
	return (struct runtime_code){
		.version = version,
		.first_line = 10,
		.name = {(const uint8_t *)name, (uint16_t)strlen(name), 1},
		.file = {(const uint8_t *)file, (uint16_t)strlen(file), 1},
		.table = table_3_11,
		.table_bytes = sizeof(table_3_11),
	};
}

static void test_python(void **state)
{
	static const uint16_t wide[] = {'f', 0x4e2d};
	struct runtime_code code = code_of(0x030b, "f\x7f", "file:///caf\xe9.py");
	struct decoded_code decoded;

	(void)state;
	code_decode(&code, &decoded);
	assert_string_equal(decoded.name, "f?");
	assert_string_equal(decoded.file, "file:///caf\xc3\xa9.py");
	assert_int_equal(code_decode_line(&code, 4), 11);
	assert_int_equal(code_decode_line(&code, 16), 13);
	assert_int_equal(code_decode_line(&code, 20), 0);
	code.name = (struct runtime_text){(const uint8_t *)wide, sizeof(wide), 2};
	code.file.n_bytes = 0;
	code.version = 0x0309;
	code.table = table_3_9;
	code.table_bytes = sizeof(table_3_9);
	code_decode(&code, &decoded);
	assert_string_equal(decoded.name, "f\xe4\xb8\xad");
	assert_string_equal(decoded.file, "");
	assert_int_equal(code_decode_line(&code, 16), 13);
}

/* V8's functions have a name at any rate, files as paths, and the line that they begin in. */
static void test_javascript(void **state)
{
	struct runtime_code code = code_of(RUNTIME_V8_VERSION | 0x0b03, "", "file:///a.mjs");
	struct decoded_code decoded;

	(void)state;
	code_decode(&code, &decoded);
	assert_string_equal(decoded.name, "(anonymous)");
	assert_string_equal(decoded.file, "/a.mjs");
	assert_int_equal(code_decode_line(&code, 4), 10);
	code.first_line = UINT32_MAX;
	assert_int_equal(code_decode_line(&code, 4), 0);
}

/* What is longer than may be is cut. */
static void test_long(void **state)
{
	static uint8_t long_text[WORKER_FUNCTION_TEXT_MAX];
	struct runtime_code code = code_of(0x030b, "", "");
	struct decoded_code decoded;

	(void)state;
	memset(long_text, 0xe9, sizeof(long_text));
	code.name = code.file = (struct runtime_text){long_text, sizeof(long_text), 1};
	code_decode(&code, &decoded);
	assert_int_equal(strlen(decoded.name), WORKER_FUNCTION_TEXT_MAX - 1);
	assert_string_equal(decoded.name, decoded.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_javascript),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
