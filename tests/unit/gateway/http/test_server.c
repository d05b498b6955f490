/* SPDX-License-Identifier: MIT */
/* A server at a Unix socket, and clients that take no answers. */
#include "client/gateway/http/server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server_fixture.h"

#define BIG ((size_t)24 << 20)

static void serve_big(struct http_exchange *x, void *userdata)
{
	(void)userdata;
	http_exchange_reply(x, "text/plain", calloc(1, BIG), BIG);
}

static void serve_placed(struct http_exchange *x, void *userdata)
{
	if (http_exchange_take_place(x, ((struct fixture *)userdata)->places, "answers"))
		serve_big(x, userdata);
}

static void serve_small(struct http_exchange *x, void *userdata)
{
	(void)userdata;
	http_exchange_reply(x, "text/plain", strdup("x"), 1);
}

static const struct http_route served[] = {
	{.path = "/big", .role = HTTP_ROLE_READ, .handle = serve_big},
	{.path = "/placed", .role = HTTP_ROLE_READ, .handle = serve_placed},
	{.path = "/small", .role = HTTP_ROLE_READ, .handle = serve_small},
	{0},
};

static void await_connections(const struct fixture *f, uint64_t n)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;

	while (f->counters.connections != n) {
		assert_true(clock_ns(CLOCK_MONOTONIC) < end_ns);
		assert_true(sd_event_run(f->loop, 10000) >= 0);
	}
}

static void test_bounds_answers(void **state)
{
	int first, second, other;
	struct fixture f;

	(void)state;
	fixture_init(&f, (struct http_server_options){.routes = served});
	first = begin(&f, "/big");
	assert_int_equal(status_of(&f, first), 200);
	second = begin(&f, "/big");
	assert_int_equal(status_of(&f, second), 200);
	other = begin(&f, "/big");
	assert_int_equal(status_of(&f, other), 503);
	close(other);
	other = begin(&f, "/small");
	assert_int_equal(status_of(&f, other), 200);
	close(other);
	close(first);
	await_connections(&f, 1);
	other = begin(&f, "/big");
	assert_int_equal(status_of(&f, other), 200);
	close(other);
	close(second);
	fixture_deinit(&f);
}

/* An answer that is not taken keeps its place. */
static void test_places(void **state)
{
	struct fixture f;
	int fds[3];

	(void)state;
	fixture_init(&f, (struct http_server_options){.routes = served});
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = begin(&f, "/placed");
		assert_int_equal(status_of(&f, fds[i]), i < 2 ? 200 : 429);
	}
	close(fds[2]);
	close(fds[0]);
	await_connections(&f, 1);
	fds[0] = begin(&f, "/placed");
	assert_int_equal(status_of(&f, fds[0]), 200);
	close(fds[0]);
	close(fds[1]);
	fixture_deinit(&f);
}

/* A connection between two requests is not slow, and one in a request is. */
static void test_idle_connections(void **state)
{
	struct http_server_options options = {.routes = served, .request_ms = 60000, .idle_ms = 1};
	struct fixture f;
	int fd;

	(void)state;
	fixture_init(&f, options);
	fd = begin(&f, "/small");
	await_end(&f, fd);
	close(fd);
	assert_int_equal(f.counters.requests[2], 1);
	assert_int_equal(f.counters.slow, 0);
	fixture_deinit(&f);

	options = (struct http_server_options){.routes = served, .request_ms = 1, .idle_ms = 60000};
	fixture_init(&f, options);
	assert_int_equal(unixsock_connect(f.path, &fd), 0);
	assert_int_equal(send(fd, "GET /small HTTP/1.1\r\nX", 22, MSG_NOSIGNAL), 22);
	await_end(&f, fd);
	close(fd);
	assert_int_equal(f.counters.slow, 1);
	fixture_deinit(&f);
}

/* A loop that was held up, or a machine that was, makes no client slow. */
static void test_late_loop(void **state)
{
	const struct http_server_options options = {.routes = served, .request_ms = 2000};
	struct fixture f;
	int fd;

	(void)state;
	fixture_init(&f, options);
	assert_int_equal(unixsock_connect(f.path, &fd), 0);
	assert_int_equal(send(fd, "GET /small HTTP/1.1\r\n", 21, MSG_NOSIGNAL), 21);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f.loop, 10000) >= 0);
	sleep(3);
	for (int i = 0; i < 10; i++)
		assert_true(sd_event_run(f.loop, 10000) >= 0);
	assert_int_equal(send(fd, "Host: localhost\r\n\r\n", 19, MSG_NOSIGNAL), 19);
	assert_int_equal(status_of(&f, fd), 200);
	assert_int_equal(f.counters.slow, 0);
	close(fd);
	fixture_deinit(&f);
}

/* It is removed if it is still the one that was made, and open to its group only. */
static void test_socket_file(void **state)
{
	char dir[] = "/tmp/profd-server-XXXXXX", path[64];
	struct http_message message;
	struct http_listener *l;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	assert_int_equal(http_listener_new(&l, path, "no-such-group", &message), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(open(path, O_CREAT | O_RDWR, 0600)), 0);
	http_listener_free(l);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(http_listener_new(&l, path, NULL, &message), 0);
	http_listener_free(l);
	assert_int_equal(rmdir(dir), 0);
}

static void test_absent_address(void **state)
{
	struct http_message message;
	struct http_listener *l;

	(void)state;
	/* TEST-NET-1, RFC 5737 */
	assert_int_equal(http_listener_new(&l, "192.0.2.1:7070", NULL, &message),
			 HTTP_LISTENER_E_ABSENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_answers),   cmocka_unit_test(test_places),
		cmocka_unit_test(test_idle_connections), cmocka_unit_test(test_late_loop),
		cmocka_unit_test(test_socket_file),      cmocka_unit_test(test_absent_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
