/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/listener.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/says.h"

static struct http_place place_of(const char *text)
{
	struct http_message message;
	struct http_place p;

	if (http_place_parse(text, &p, &message))
		fail_msg("%s", message.text);
	return p;
}

static void test_places(void **state)
{
	struct http_place p = place_of("/run/x.sock");

	(void)state;
	assert_string_equal(p.path, "/run/x.sock");
	assert_true(p.is_local);
	p = place_of("127.0.0.1:7070");
	assert_null(p.path);
	assert_true(p.is_local);
	assert_int_equal(ntohs(((struct sockaddr_in *)&p.address)->sin_port), 7070);
	p = place_of("localhost:1");
	assert_true(p.is_local);
	assert_int_equal(p.address.ss_family, AF_INET);
	p = place_of("[::1]:65535");
	assert_true(p.is_local);
	assert_int_equal(ntohs(((struct sockaddr_in6 *)&p.address)->sin6_port), 65535);
	assert_false(p.any_port);
	assert_true(place_of("127.0.0.1:0").any_port);
	assert_true(place_of("[::1]:0").any_port);
	assert_false(place_of("0.0.0.0:80").is_local);
	assert_false(place_of("[::]:80").is_local);
	assert_false(place_of("192.0.2.1:80").is_local);
}

static void test_bad_places(void **state)
{
	static const char *const bad[] = {
		"7070",    ":7070", "127.0.0.1", "127.0.0.1:",   "127.0.0.1:x", "127.0.0.1:65536",
		"[::1:80", "[::1]", "::1:80",    "host:80",      "run/x.sock",  "[127.0.0.1]:80",
		"[]:80",   "]:80",  "[:80",      "127.0.0.1:-1", "[::1]]:80",
	};
	struct http_message message;
	struct http_place p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (http_place_parse(bad[i], &p, &message) != HTTP_LISTENER_E_BAD)
			fail_msg("\"%s\" is taken", bad[i]);
		assert_says(message.text, bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_bad_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
