/* SPDX-License-Identifier: MIT */
/* The files of the page, as they were made. */
#include "client/gateway/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* With a NUL behind it; of the caller. */
static char *contents(const char *name)
{
	for (const struct page_file *f = page_files; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return strndup((const char *)f->bytes, f->length);
	fail_msg("no %s", name);
	return NULL;
}

static void test_files(void **state)
{
	(void)state;
	for (const struct page_file *f = page_files; f->name; f++) {
		assert_true(f->length > 0);
		assert_true(f->etag[0] == '"' && f->etag[strlen(f->etag) - 1] == '"');
		for (const struct page_file *other = page_files; other != f; other++)
			assert_string_not_equal(other->etag, f->etag);
	}
}

/* What the security policy would refuse, and what would be of elsewhere. */
static void test_document_is_plain(void **state)
{
	static const char *const refused[] = {" style=", "<style", " onclick=", "javascript:",
					      "data:",   "http:",  "https:",    "@GRAPH@"};
	char *html = contents("index.html");
	char *script = strstr(html, "<script");

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strstr(html, refused[i]))
			fail_msg("index.html has %s", refused[i]);
	assert_non_null(script);
	assert_ptr_equal(strstr(script, "<script src=\"/page/page.js\""), script);
	assert_null(strstr(script + 1, "<script"));
	assert_non_null(strstr(html, "id=\"flame\""));
	free(html);
}

/* Each file that the document names is there. */
static void test_references(void **state)
{
	char *html = contents("index.html");

	(void)state;
	for (char *at = html; (at = strstr(at, "\"/page/"));) {
		char *name = at + strlen("\"/page/");

		at = strchr(name, '"');
		assert_non_null(at);
		*at++ = '\0';
		free(contents(name));
	}
	free(html);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_document_is_plain),
		cmocka_unit_test(test_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
