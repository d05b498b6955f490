/* SPDX-License-Identifier: MIT */
/* The file of a target's headers: taken as it is, or refused in one line without a secret. */
#include "client/gateway/export/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/profd-headers-XXXXXX";

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const char *text, size_t length)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, length, out), length);
	assert_int_equal(fclose(out), 0);
}

static void assert_refused(const char *text, size_t length, const char *why)
{
	struct headers_message message;
	char *headers = NULL, expected[600];

	write_file(text, length);
	assert_int_equal(headers_read(path, &headers, &message), HEADERS_E_BAD);
	snprintf(expected, sizeof(expected), "%s %s", path, why);
	assert_string_equal(message.text, expected);
}

static void test_taken(void **state)
{
	static const char text[] = "# a token\n\nAuthorization: Bearer x\nX-Scope-OrgID:1\n";
	struct headers_message message;
	char *headers = NULL;

	(void)state;
	write_file(text, strlen(text));
	assert_int_equal(headers_read(path, &headers, &message), HEADERS_E_OK);
	assert_string_equal(headers, text);
	free(headers);
	assert_int_equal(headers_read("", &headers, &message), HEADERS_E_OK);
	assert_string_equal(headers, "");
	free(headers);
}

static void test_refused(void **state)
{
	static char much[20000];

	(void)state;
	memset(much, '#', sizeof(much));
	assert_refused("A: secret\nsecret", 16, "line 2 is not 'Name: value'");
	assert_refused("A: secret\0: x", 13, "has a NUL");
	assert_refused(much, sizeof(much), "is too long");
}

static void test_no_file(void **state)
{
	struct headers_message message;
	char *headers = NULL;

	(void)state;
	assert_int_equal(headers_read("/nowhere/x", &headers, &message), HEADERS_E_BAD);
	assert_string_equal(message.text, "/nowhere/x: No such file or directory");
	assert_int_equal(headers_read("/dev/null", &headers, &message), HEADERS_E_BAD);
	assert_string_equal(message.text, "/dev/null is no regular file");
}

#define OF_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OF_FILE(test_taken),
		OF_FILE(test_refused),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
