/* SPDX-License-Identifier: MIT */
/* A server that is retired answers what it was asked, and nothing else. */
#include "server_fixture.h"

struct retirement {
	struct http_exchange *asked;
	bool is_drained;
};

static struct retirement retirement;

static void keep_exchange(struct http_exchange *x, void *userdata)
{
	(void)userdata;
	retirement.asked = x;
}

static void serve_at_once(struct http_exchange *x, void *userdata)
{
	(void)userdata;
	http_exchange_reply(x, "text/plain", strdup("x"), 1);
}

static const struct http_route retired_routes[] = {
	{.path = "/later", .role = HTTP_ROLE_READ, .handle = keep_exchange},
	{.path = "/now", .role = HTTP_ROLE_READ, .handle = serve_at_once},
	{0},
};

static void note_drained(void *userdata)
{
	struct fixture *f = userdata;

	assert_false(retirement.is_drained);
	retirement.is_drained = true;
	http_server_free(f->server);
	f->server = NULL;
}

static void turn_loop(const struct fixture *f, const bool *until)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;

	while (!*until) {
		assert_true(clock_ns(CLOCK_MONOTONIC) < end_ns);
		assert_true(sd_event_run(f->loop, 10000) >= 0);
	}
}

static void test_ends_with_its_requests(void **state)
{
	int idle, asked, waiting;
	struct fixture f;
	char text[4096];
	ssize_t n;

	(void)state;
	retirement = (struct retirement){0};
	fixture_init(&f, (struct http_server_options){.routes = retired_routes});
	idle = begin(&f, "/now");
	assert_int_equal(status_of(&f, idle), 200);
	asked = begin(&f, "/later");
	while (!retirement.asked)
		assert_true(sd_event_run(f.loop, 10000) >= 0);
	waiting = begin(&f, "/now"); /* accepted by the kernel only */
	http_server_retire(f.server, note_drained, &f);
	assert_int_equal(status_of(&f, waiting), 200);
	await_end(&f, idle);
	await_end(&f, waiting);
	assert_false(retirement.is_drained);
	http_exchange_reply(retirement.asked, "text/plain", strdup("late"), 4);
	turn_loop(&f, &retirement.is_drained);
	n = recv(asked, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = '\0';
	assert_memory_equal(text, "HTTP/1.1 200", 12);
	assert_non_null(strstr(text, "Connection: close"));
	assert_string_equal(text + n - 4, "late");
	assert_int_equal(f.counters.requests[2], 3);
	close(idle);
	close(asked);
	close(waiting);
	fixture_deinit(&f);
}

static void test_ends_without_connections(void **state)
{
	struct fixture f;

	(void)state;
	retirement = (struct retirement){0};
	fixture_init(&f, (struct http_server_options){.routes = retired_routes});
	http_server_retire(f.server, note_drained, &f);
	assert_false(retirement.is_drained);
	turn_loop(&f, &retirement.is_drained);
	fixture_deinit(&f);
}

/* What is not answered yet when it is freed is cancelled. */
static void test_freed_before(void **state)
{
	struct fixture f;
	int fd;

	(void)state;
	retirement = (struct retirement){0};
	fixture_init(&f, (struct http_server_options){.routes = retired_routes});
	fd = begin(&f, "/later");
	while (!retirement.asked)
		assert_true(sd_event_run(f.loop, 10000) >= 0);
	http_server_retire(f.server, note_drained, &f);
	fixture_deinit(&f);
	assert_false(retirement.is_drained);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_with_its_requests),
		cmocka_unit_test(test_ends_without_connections),
		cmocka_unit_test(test_freed_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
