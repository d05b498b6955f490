/* SPDX-License-Identifier: MIT */
/* What libmicrohttpd refuses, and what is no request at all, is counted. */
#include "server_fixture.h"

static void serve_nothing(struct http_exchange *x, void *userdata)
{
	(void)userdata;
	http_exchange_reply(x, "text/plain", strdup(""), 0);
}

static const struct http_route refused_routes[] = {
	{.path = "/", .role = HTTP_ROLE_READ, .takes = HTTP_TAKES_POST, .handle = serve_nothing},
	{0},
};

/* Sends it, takes the answer, if there is one, and hangs up. */
static void send_all(struct fixture *f, const char *text, unsigned status)
{
	ssize_t length = (ssize_t)strlen(text);
	int fd;

	assert_int_equal(unixsock_connect(f->path, &fd), 0);
	assert_int_equal(send(fd, text, (size_t)length, MSG_NOSIGNAL), length);
	for (int i = 0; i < 5; i++)
		assert_true(sd_event_run(f->loop, 1000) >= 0);
	if (status)
		assert_int_equal(status_of(f, fd) / 100, status);
	close(fd);
	while (f->counters.connections)
		assert_true(sd_event_run(f->loop, 10000) >= 0);
}

static void assert_refused(const struct fixture *f, enum http_refusal refusal)
{
	for (size_t i = 0; i < HTTP_REFUSALS; i++)
		if (f->counters.refused[i] != (i == refusal))
			fail_msg("%zu were refused with %zu, expected of %d",
				 (size_t)f->counters.refused[i], i, (int)refusal);
}

static void test_counts(void **state)
{
	static char huge[60000];
	const struct {
		const char *text;
		enum http_refusal refusal;
		unsigned status; /* its first digit; 0: no answer that counts */
	} rows[] = {
		{"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", HTTP_REFUSED_MALFORMED, 4},
		{"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
		 HTTP_REFUSED_MALFORMED, 4},
		{huge, HTTP_REFUSED_TOO_LARGE, 4},
		{"GET / HTTP/1.1\r\nHost: localho", HTTP_REFUSED_INCOMPLETE, 0},
		{"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
		 HTTP_REFUSED_INCOMPLETE, 0},
		{"", HTTP_REFUSED_NO_REQUEST, 0},
		{"GET / HT", HTTP_REFUSED_NO_REQUEST, 0},
	};
	struct fixture f;
	int n;

	(void)state;
	n = snprintf(huge, sizeof(huge), "GET / HTTP/1.1\r\nX: ");
	memset(huge + n, 'a', sizeof(huge) - 1 - (size_t)n);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fixture_init(&f, (struct http_server_options){.routes = refused_routes});
		send_all(&f, rows[i].text, rows[i].status);
		assert_refused(&f, rows[i].refusal);
		for (unsigned j = 0; j < ARRAY_SIZE(f.counters.requests); j++)
			assert_int_equal(f.counters.requests[j], j && j == rows[i].status);
		fixture_deinit(&f);
	}
}

/* A user's connections are bounded; those that end make room. */
static void test_connections(void **state)
{
	int fds[HTTP_CLIENT_CONNECTIONS_MAX], more;
	struct fixture f;

	(void)state;
	fixture_init(&f, (struct http_server_options){.routes = refused_routes});
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = begin(&f, "/");
		assert_int_equal(status_of(&f, fds[i]), 200);
	}
	assert_int_equal(unixsock_connect(f.path, &more), 0);
	await_end(&f, more);
	close(more);
	assert_refused(&f, HTTP_REFUSED_CONNECTION);
	close(fds[0]);
	while (f.counters.connections >= ARRAY_SIZE(fds))
		assert_true(sd_event_run(f.loop, 10000) >= 0);
	fds[0] = begin(&f, "/");
	assert_int_equal(status_of(&f, fds[0]), 200);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
