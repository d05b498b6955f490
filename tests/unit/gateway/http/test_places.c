/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/places.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct http_client user_client(uint8_t uid)
{
	return (struct http_client){.family = AF_UNIX, .role = HTTP_ROLE_READ, .id = {uid}};
}

/* One client's part is bounded, and others have the rest. */
static void test_parts(void **state)
{
	const struct http_client a = user_client(1), b = user_client(2), c = user_client(3);
	struct http_places *p;

	(void)state;
	assert_int_equal(http_places_new(&p, 3, 2), 0);
	assert_int_equal(http_places_take(p, &a), HTTP_PLACES_E_OK);
	assert_int_equal(http_places_take(p, &a), HTTP_PLACES_E_OK);
	assert_int_equal(http_places_take(p, &a), HTTP_PLACES_E_CLIENT);
	assert_int_equal(http_places_take(p, &b), HTTP_PLACES_E_OK);
	assert_int_equal(http_places_take(p, &b), HTTP_PLACES_E_FULL);
	assert_int_equal(http_places_take(p, &c), HTTP_PLACES_E_FULL);
	http_places_leave(p, &a);
	assert_int_equal(http_places_take(p, &c), HTTP_PLACES_E_OK);
	http_places_leave(p, &c);
	assert_int_equal(http_places_take(p, &a), HTTP_PLACES_E_OK);
	assert_int_equal(http_places_take(p, &a), HTTP_PLACES_E_CLIENT);
	http_places_leave(p, &a);
	http_places_leave(p, &a);
	http_places_leave(p, &b);
	assert_int_equal(http_places_take(p, &b), HTTP_PLACES_E_OK);
	http_places_free(p);
}

/* Roles are clients of their own: behind a proxy, all have one address. */
static void test_roles(void **state)
{
	struct http_client reads = user_client(1), scrapes = user_client(1);
	struct http_places *p;

	(void)state;
	scrapes.role = HTTP_ROLE_METRICS;
	assert_int_equal(http_places_new(&p, 2, 1), 0);
	assert_int_equal(http_places_take(p, &reads), HTTP_PLACES_E_OK);
	assert_int_equal(http_places_take(p, &scrapes), HTTP_PLACES_E_OK);
	http_places_free(p);
}

static struct http_client client_from(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET}, from = {.sin_family = AF_INET};
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), accepted;
	socklen_t length = sizeof(to);
	struct http_client client;

	assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(listening, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&to, &length), 0);
	assert_int_equal(bind(connected, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(connected, (struct sockaddr *)&to, sizeof(to)), 0);
	accepted = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	client = http_client_of(accepted, HTTP_ROLE_READ);
	close(accepted);
	close(connected);
	close(listening);
	return client;
}

/* A user of this machine has 2^24 loopback addresses. */
static void test_clients(void **state)
{
	struct http_client first = client_from("127.0.0.1"), second = client_from("127.9.9.9"),
			   user;
	int fds[2];

	(void)state;
	assert_int_equal(first.family, AF_INET);
	assert_true(http_clients_are_equal(&first, &second));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	user = http_client_of(fds[0], HTTP_ROLE_READ);
	assert_int_equal(user.family, AF_UNIX);
	assert_memory_equal(user.id, &(uid_t){geteuid()}, sizeof(uid_t));
	assert_false(http_clients_are_equal(&first, &user));
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
