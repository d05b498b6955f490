/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/support/says.h"
#include "tests/support/temp_dir.h"

#define FILE_TEXT                               \
	"# comment\n"                           \
	"\n"                                    \
	"metrics prometheus 0123456789abcdef\n" \
	"  read\talice  correct-horse-battery \r\n"

static struct http_credentials *parse(const char *text)
{
	struct http_credentials *c = NULL;
	struct http_message message = {""};

	if (http_credentials_parse(&c, text, strlen(text), "file", &message))
		fail_msg("%s", message.text);
	return c;
}

static void test_tokens(void **state)
{
	cleanup(http_credentials_freep) struct http_credentials *c = parse(FILE_TEXT);

	(void)state;
	assert_int_equal(http_credentials_find(c, "Bearer 0123456789abcdef"), HTTP_ROLE_METRICS);
	assert_int_equal(http_credentials_find(c, "bearer correct-horse-battery"), HTTP_ROLE_READ);
	/* printf 'prometheus:0123456789abcdef' | base64 */
	assert_int_equal(http_credentials_find(c, "Basic cHJvbWV0aGV1czowMTIzNDU2Nzg5YWJjZGVm"),
			 HTTP_ROLE_METRICS);
	/* printf 'alice:correct-horse-battery' | base64 */
	assert_int_equal(http_credentials_find(c, "Basic YWxpY2U6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"),
			 HTTP_ROLE_READ);
	assert_int_equal(http_credentials_find(NULL, "Bearer 0123456789abcdef"), HTTP_ROLE_NONE);
}

static void test_padding(void **state)
{
	cleanup(http_credentials_freep) struct http_credentials *c = parse(
		"read a 0123456789abcdef\nread bb 0123456789abcdef\n");

	(void)state;
	assert_int_equal(http_credentials_find(c, "Basic YTowMTIzNDU2Nzg5YWJjZGVm"),
			 HTTP_ROLE_READ);
	assert_int_equal(http_credentials_find(c, "Basic YmI6MDEyMzQ1Njc4OWFiY2RlZg=="),
			 HTTP_ROLE_READ);
	assert_int_equal(http_credentials_find(c, "Basic YmI6MDEyMzQ1Njc4OWFiY2RlZg"),
			 HTTP_ROLE_NONE);
}

static void test_unknown(void **state)
{
	static const char *const bad[] = {
		"",
		"Bearer",
		"Bearer ",
		"Bearer 0123456789abcde",
		"Bearer 0123456789abcdeg",
		"Bearer 0123456789abcdef ",
		"Bearer  0123456789abcdef",
		"Basic 0123456789abcdef",
		"Bearer cHJvbWV0aGV1czowMTIzNDU2Nzg5YWJjZGVm",
		"Digest 0123456789abcdef",
		"0123456789abcdef",
		"Basic YWxpY2U6MDEyMzQ1Njc4OWFiY2RlZg==", /* one's name, another's secret */
	};
	cleanup(http_credentials_freep) struct http_credentials *c = parse(FILE_TEXT);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (http_credentials_find(c, bad[i]) != HTTP_ROLE_NONE)
			fail_msg("\"%s\" is let in", bad[i]);
	assert_int_equal(http_credentials_find(c, NULL), HTTP_ROLE_NONE);
}

static void test_bad_files(void **state)
{
	static const char *const bad[][2] = {
		{"", "no credentials"},
		{"# only\n", "no credentials"},
		{"\nwrite a 0123456789abcdef", "file:2: a line is"},
		{"read a", "file:1: a line is"},
		{"read a short", "less than 16"},
		{"read a 0123456789abcdef more", "a line is"},
		{"read a:b 0123456789abcdef", "no colon"},
		{"read a 0123456789\xc3\xa9"
		 "bcdef",
		 "ASCII"},
	};
	struct http_credentials *c = NULL;
	struct http_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(http_credentials_parse(&c, bad[i][0], strlen(bad[i][0]), "file",
							&message),
				 HTTP_CREDENTIALS_E_BAD);
		assert_says(message.text, bad[i][1]);
		assert_null(c);
	}
}

static void test_limits(void **state)
{
	static char text[HTTP_CREDENTIALS_MAX * 64 + 64];
	struct http_credentials *c = NULL;
	struct http_message message;
	size_t length = 0;

	(void)state;
	for (unsigned i = 0; i <= HTTP_CREDENTIALS_MAX; i++)
		length += (size_t)sprintf(text + length, "read user%u 0123456789abcdef%u\n", i, i);
	assert_int_equal(http_credentials_parse(&c, text, length, "file", &message),
			 HTTP_CREDENTIALS_E_BAD);
	assert_says(message.text, "too many");
	length = (size_t)sprintf(text, "read a %0300d", 0);
	assert_int_equal(http_credentials_parse(&c, text, length, "file", &message),
			 HTTP_CREDENTIALS_E_BAD);
	assert_says(message.text, "too long");
}

/* A secret that everybody can read is none. */
static void test_modes(void **state)
{
	struct temp_dir dir;
	struct http_credentials *c = NULL;
	struct http_message message;
	char path[160];
	FILE *f;

	(void)state;
	temp_dir_make(&dir);
	snprintf(path, sizeof(path), "%s/credentials", dir.path);
	assert_int_equal(http_credentials_load(&c, path, &message), HTTP_CREDENTIALS_E_BAD);
	assert_says(message.text, "cannot be read");
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(FILE_TEXT, f);
	fclose(f);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(http_credentials_load(&c, path, &message), HTTP_CREDENTIALS_E_BAD);
	assert_says(message.text, "every user");
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(http_credentials_load(&c, path, &message), HTTP_CREDENTIALS_E_OK);
	assert_int_equal(http_credentials_find(c, "Bearer correct-horse-battery"), HTTP_ROLE_READ);
	http_credentials_free(c);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),  cmocka_unit_test(test_padding),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_limits),  cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
