/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char name[] = "profiles.example.org";
static char *const allowed[] = {name, NULL}, *const nothing[] = {NULL};

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage a = {0};

	if (strchr(text, ':')) {
		a.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&a)->sin6_addr),
				 1);
	} else {
		a.ss_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&a)->sin_addr),
				 1);
	}
	return a;
}

static bool is_own(const char *host, const char *own, char *const *names)
{
	struct sockaddr_storage a = address_of(own);

	return http_host_is_own(host, (const struct sockaddr *)&a, names);
}

static void test_own_addresses(void **state)
{
	(void)state;
	assert_true(is_own("127.0.0.1:7070", "127.0.0.1", nothing));
	assert_true(is_own("127.0.0.1", "127.0.0.1", nothing));
	assert_true(is_own("localhost:1", "127.0.0.1", nothing));
	assert_true(is_own("LocalHost", "::1", nothing));
	assert_true(is_own("[::1]:7070", "::1", nothing));
	assert_true(is_own("[0:0::1]", "::1", nothing));
	assert_true(is_own("192.0.2.7:443", "192.0.2.7", nothing));
	assert_false(is_own("localhost", "192.0.2.7", nothing));
	assert_false(is_own("192.0.2.8", "192.0.2.7", nothing));
	assert_false(is_own("::1", "::1", nothing));
	assert_false(is_own("[127.0.0.1]", "127.0.0.1", nothing));
}

static void test_foreign_names(void **state)
{
	static const char *const bad[] = {
		"attacker.example",
		"localhost.attacker.example",
		"127.0.0.1.attacker.example",
		"",
		":7070",
		"[::1]x",
		"127.0.0.1:x",
		"localhost:1:2",
		"localhost@attacker.example",
		"[::1",
		"[]",
		"127.0.0.1 ",
		"localhost.",
		"127.1",
		"0x7f000001",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (is_own(bad[i], "127.0.0.1", nothing))
			fail_msg("\"%s\" is taken for our own", bad[i]);
}

static void test_allowed_names(void **state)
{
	(void)state;
	assert_true(is_own("profiles.example.org", "192.0.2.7", allowed));
	assert_true(is_own("Profiles.Example.org:8443", "127.0.0.1", allowed));
	assert_false(is_own("x.profiles.example.org", "127.0.0.1", allowed));
	assert_false(is_own("profiles.example", "127.0.0.1", allowed));
}

static void test_local(void **state)
{
	struct sockaddr_storage a;

	(void)state;
	a = address_of("127.255.0.1");
	assert_true(http_address_is_local((struct sockaddr *)&a));
	a = address_of("::1");
	assert_true(http_address_is_local((struct sockaddr *)&a));
	a = address_of("0.0.0.0");
	assert_false(http_address_is_local((struct sockaddr *)&a));
	a = address_of("::");
	assert_false(http_address_is_local((struct sockaddr *)&a));
	a = address_of("::ffff:127.0.0.1");
	assert_false(http_address_is_local((struct sockaddr *)&a));
	a.ss_family = AF_UNIX;
	assert_true(http_address_is_local((struct sockaddr *)&a));
}

static bool is_cross(const char *host, const char *origin, const char *site)
{
	return http_is_cross_site(&(struct http_origin){host, origin, site});
}

static void test_sites(void **state)
{
	(void)state;
	assert_false(is_cross("localhost:7070", NULL, NULL));
	assert_false(is_cross("localhost:7070", NULL, "none"));
	assert_false(is_cross("localhost:7070", "http://localhost:7070", "same-origin"));
	assert_false(is_cross("Localhost:7070", "https://localhost:7070", NULL));
	assert_true(is_cross("localhost:7070", NULL, "cross-site"));
	assert_true(is_cross("localhost:7070", NULL, "same-site"));
	assert_true(is_cross("localhost:7070", NULL, ""));
	assert_true(is_cross("localhost:7070", "http://localhost:8080", NULL));
	assert_true(is_cross("localhost:7070", "http://attacker.example", NULL));
	assert_true(is_cross("localhost:7070", "null", NULL));
	assert_true(is_cross("localhost:7070", "localhost:7070", NULL));
	assert_true(is_cross(NULL, "http://localhost:7070", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_addresses), cmocka_unit_test(test_foreign_names),
		cmocka_unit_test(test_allowed_names), cmocka_unit_test(test_local),
		cmocka_unit_test(test_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
