/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/worker/answer.h"

static const struct {
	const char *text, *cleaned; /* NULL: as it is */
} texts[] = {
	{"", NULL},
	{"main", NULL},
	{"a b~", NULL},
	{"\xc2\xa0", NULL},         /* U+00A0 */
	{"\xdf\xbf", NULL},         /* U+07FF */
	{"\xe0\xa0\x80", NULL},     /* U+0800 */
	{"\xed\x9f\xbf", NULL},     /* U+D7FF */
	{"\xee\x80\x80", NULL},     /* U+E000 */
	{"\xf0\x90\x80\x80", NULL}, /* U+10000 */
	{"\xf4\x8f\xbf\xbf", NULL}, /* U+10FFFF */
	{"a\nb", "a\xef\xbf\xbd"
		 "b"},
	{"\x1b[0m", "\xef\xbf\xbd[0m"},
	{"\x7f", "\xef\xbf\xbd"},
	{"\xc2\x9b", "\xef\xbf\xbd\xef\xbf\xbd"}, /* U+009B, which is CSI */
	{"\x80", "\xef\xbf\xbd"},                 /* nothing to continue */
	{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"}, /* too long a form */
	{"\xc1\xbf", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xe0\x9f\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
	{"\xf0\x8f\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xf4\x90\x80\x80",
	 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* past the last */
	{"\xf5", "\xef\xbf\xbd"},
	{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut short */
	{"\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx"},
};

static void test_clean(void **state)
{
	char cleaned[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *expected = texts[i].cleaned ? texts[i].cleaned : texts[i].text;
		size_t length = strlen(texts[i].text), n;

		assert_int_equal(text_is_clean(texts[i].text, length), !texts[i].cleaned);
		n = text_clean(texts[i].text, length, cleaned, sizeof(cleaned) - 1);
		assert_int_equal(n, strlen(expected));
		assert_string_equal(cleaned, expected);
		assert_true(text_is_clean(cleaned, n));
	}
}

/* However little room there is, no character is cut. */
static void test_cut(void **state)
{
	static const char text[] = "a\xe2\x82\xac\n\xf0\x90\x80\x80z";
	static const size_t ends[] = {0, 1, 1, 1, 4, 4, 4, 7, 7, 7, 7, 11, 12, 12};
	char cleaned[16];

	(void)state;
	for (size_t max = 0; max < ARRAY_SIZE(ends); max++) {
		memset(cleaned, 'x', sizeof(cleaned));
		assert_int_equal(text_clean(text, sizeof(text) - 1, cleaned, max), ends[max]);
		assert_int_equal(cleaned[ends[max]], '\0');
		assert_int_equal(cleaned[max + 1], 'x');
		assert_true(text_is_clean(cleaned, ends[max]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
