/* SPDX-License-Identifier: MIT */
/* A token works once, a cookie always; and the address without a token is the same one. */
#include "client/gateway/http/ticket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/http/target.h"

static void test_token(void **state)
{
	char token[HTTP_SECRET_SIZE], other[HTTP_SECRET_SIZE];
	struct http_ticket t, u;

	(void)state;
	assert_int_equal(http_ticket_init(&t, 7070), 0);
	assert_int_equal(http_ticket_init(&u, 7070), 0);
	assert_string_not_equal(t.token, u.token);
	assert_string_not_equal(t.token, t.cookie);
	assert_int_equal(strspn(t.token, "0123456789abcdef"), HTTP_SECRET_BITS / 4);
	strcpy(token, t.token);
	strcpy(other, token);
	other[HTTP_SECRET_SIZE - 2] ^= 1;
	assert_false(http_ticket_redeem(&t, ""));
	assert_false(http_ticket_redeem(&t, other));
	other[HTTP_SECRET_SIZE - 2] = '\0';
	assert_false(http_ticket_redeem(&t, other));
	assert_true(http_ticket_redeem(&t, token));
	assert_false(http_ticket_redeem(&t, token));
	/* What is left of it lets nobody in. */
	assert_false(http_ticket_redeem(&t, ""));
}

/* Whether the ticket is shown by what is before, then the value, then what is behind. */
static bool shows(const struct http_ticket *t, const char *before, const char *value,
		  const char *behind)
{
	char text[200];

	snprintf(text, sizeof(text), "%s%s%s", before, value, behind);
	return http_ticket_is_shown(t, text);
}

static void test_cookie(void **state)
{
	char set[HTTP_TICKET_HEADER_SIZE], wrong[HTTP_SECRET_SIZE];
	struct http_ticket t;

	(void)state;
	assert_int_equal(http_ticket_init(&t, 7070), 0);
	strcpy(wrong, t.cookie);
	wrong[0] ^= 1;
	assert_true(shows(&t, "profd-7070=", t.cookie, ""));
	assert_true(shows(&t, "a=b; profd-7070=", t.cookie, "; c"));
	assert_true(shows(&t, "profd-7070=x;profd-7070=", t.cookie, ""));
	assert_false(shows(&t, "profd-7070=", wrong, ""));
	assert_false(shows(&t, "profd-7070=", t.cookie, "0"));
	assert_false(shows(&t, "profd-707=", t.cookie, ""));
	assert_false(shows(&t, "profd-7070", t.cookie, ""));
	assert_false(shows(&t, "", t.cookie, ""));
	assert_false(shows(&t, "profd-7070=", "", ""));
	assert_false(http_ticket_is_shown(&t, ""));
	assert_false(http_ticket_is_shown(&t, NULL));
	http_ticket_print_cookie(&t, set);
	assert_non_null(strstr(set, t.cookie));
	assert_non_null(strstr(set, "; HttpOnly"));
	assert_non_null(strstr(set, "; SameSite=Strict"));
	assert_non_null(strstr(set, "; Path=/"));
	/* A Unix socket has no port. */
	assert_int_equal(http_ticket_init(&t, 0), 0);
	assert_true(shows(&t, "profd=", t.cookie, ""));
}

static void test_print(void **state)
{
	static const char *const cases[][2] = {
		{"/", "/"},
		{"/?token=x", "/"},
		{"/?a=1&token=x&b=2", "/?a=1&b=2"},
		{"/?token=x&b", "/?b="},
		{"/service/a%2Fb%20c/x?q=%22%3E%26=%3D", "/service/a%2Fb%20c/x?q=%22%3E%26%3D%3D"},
		{"/%2F%2Fevil.example?token=x", "/%2F%2Fevil.example"},
		{"/%5Cevil.example?token=x", "/%5Cevil.example"},
		{"/a+b?c=d+e", "/a%2Bb?c=d%20e"},
		{"/%C3%A9?tokens=1", "/%C3%A9?tokens=1"},
	};
	char text[HTTP_PRINTED_MAX + 1];
	struct http_target t;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = strlen(cases[i][1]);

		assert_int_equal(http_target_parse(cases[i][0], strlen(cases[i][0]), &t), 0);
		assert_int_equal(http_target_print(&t, "token", text, sizeof(text)), length);
		assert_string_equal(text, cases[i][1]);
		assert_int_equal(http_target_print(&t, "token", text, 2), length);
		assert_string_equal(text, "/");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_cookie),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
