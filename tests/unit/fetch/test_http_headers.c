/* SPDX-License-Identifier: MIT */
/* Headers that users write: which are sent as they are, and which refused, without repeating them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/fetch/http_headers.h"
#include "common/cleanup.h"

/* What is taken of @text, one a line. */
static struct http_headers take(const char *text, char *ret, size_t size)
{
	struct http_headers h = {.rest = text};
	const char *header;
	size_t length;

	*ret = '\0';
	while (http_headers_next(&h, &header, &length))
		snprintf(ret + strlen(ret), size - strlen(ret), "%.*s\n", (int)length, header);
	return h;
}

static void test_taken(void **state)
{
	static const struct {
		const char *text, *taken;
	} cases[] = {
		{"", ""},
		{"\n \n\t\r\n# a: comment\n  # b", ""},
		{"Authorization: Bearer a.b-c==", "Authorization: Bearer a.b-c==\n"},
		{"X-Scope-OrgID:tenant\n", "X-Scope-OrgID:tenant\n"},
		{"  a:  b \t\r\nc: d:e, f;g\n", "a:  b\nc: d:e, f;g\n"},
		{"a: b\tc\n", "a: b\tc\n"},
		{"content-types: x\nHosts: y", "content-types: x\nHosts: y\n"},
	};
	char taken[1000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_headers h = take(cases[i].text, taken, sizeof(taken));

		assert_null(h.trouble);
		assert_string_equal(taken, cases[i].taken);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *trouble;
		unsigned line;
	} cases[] = {
		{"Bearer secret", "is not 'Name: value'", 1},
		{"a: b\n: secret", "is not 'Name: value'", 2},
		{"a b: secret", "is not 'Name: value'", 1},
		{"a : secret", "is not 'Name: value'", 1},
		{"\n\nname", "is not 'Name: value'", 3},
		{"a\nb: secret", "is not 'Name: value'", 1},
		{"a:\r\n", "has no value", 1},
		{"a: \t \nb: c", "has no value", 1},
		{"a: b\rInjected: secret", "has a character", 1},
		{"a: b\x01", "has a character", 1},
		{"a: \x7f", "has a character", 1},
		{"a: caf\xc3\xa9", "has a character", 1},
		{"\xc3\xa9: b", "is not 'Name: value'", 1},
		{"content-LENGTH: 0", "sets what the request itself sets", 1},
		{"Content-Type: x", "sets what", 1},
		{"Content-Encoding: x", "sets what", 1},
		{"Transfer-Encoding: chunked", "sets what", 1},
		{"Host: other", "sets what", 1},
		{"Expect: 100-continue", "sets what", 1},
		{"# a\nConnection: close", "sets what", 2},
	};
	char taken[1000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_headers h = take(cases[i].text, taken, sizeof(taken));

		if (!h.trouble || !strstr(h.trouble, cases[i].trouble))
			fail_msg("%s: %s", cases[i].text, h.trouble ? h.trouble : "is taken");
		assert_int_equal(h.line, cases[i].line);
		assert_null(strstr(h.trouble, "secret"));
		assert_null(strstr(taken, "secret"));
	}
}

static void test_how_many(void **state)
{
	char text[2000] = "", taken[2000];
	struct http_headers h;

	(void)state;
	for (unsigned i = 0; i < HTTP_HEADERS_MAX_N; i++)
		strcat(text, "a: b\n");
	h = take(text, taken, sizeof(taken));
	assert_null(h.trouble);
	assert_string_equal(taken, text);
	strcat(text, "\nc: d");
	h = take(text, taken, sizeof(taken));
	assert_string_equal(h.trouble, "is one header too many");
	assert_int_equal(h.line, HTTP_HEADERS_MAX_N + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_how_many),
	};

	return cmocka_run_group_tests_name("http_headers", tests, NULL, NULL);
}
