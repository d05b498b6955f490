/* SPDX-License-Identifier: MIT */
/* Which servers the configuration may name. */
#include <stdio.h>
#include <stdlib.h>

#include "client/gateway/debuginfo.h"
#include "tests/support/says.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static int join(const char *const *list, char **ret, struct debuginfo_message *message)
{
	return urls_join((char *const *)(uintptr_t)list, ret, message);
}

static void test_good(void **state)
{
	struct debuginfo_message message;
	char *joined;

	(void)state;
	assert_int_equal(join(LIST("http://a"), &joined, &message), URLS_E_OK);
	assert_string_equal(joined, "http://a");
	free(joined);
	assert_int_equal(join(LIST("https://a.example:8002/x", "http://[::1]:1/", "http://c"),
			      &joined, &message),
			 URLS_E_OK);
	assert_string_equal(joined, "https://a.example:8002/x http://[::1]:1/ http://c");
	free(joined);
}

static void assert_bad(const char *url, const char *says)
{
	struct debuginfo_message message = {{0}};
	char *joined = NULL;

	assert_int_equal(join(LIST("http://a", url), &joined, &message), URLS_E_BAD);
	assert_null(joined);
	assert_says(message.text, says);
}

static void test_bad(void **state)
{
	struct debuginfo_message message;
	char *none[] = {NULL}, *joined, long_url[3000];

	(void)state;
	assert_int_equal(urls_join(none, &joined, &message), URLS_E_BAD);
	assert_says(message.text, "names no server");
	assert_bad("file:///etc", "neither with http");
	assert_bad("ftp://a", "neither with http");
	assert_bad("HTTP://a", "neither with http");
	assert_bad("a.example", "neither with http");
	assert_bad("", "neither with http");
	assert_bad("http://", "no host");
	assert_bad("https:///x", "no host");
	assert_bad("http://a http://b", "blanks");
	assert_bad("http://a\x7f", "ASCII");
	assert_bad("http://\xc3\xa4", "ASCII");
	snprintf(long_url, sizeof(long_url), "http://%02500d", 1);
	assert_bad(long_url, "too long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
