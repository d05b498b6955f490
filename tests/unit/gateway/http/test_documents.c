/* SPDX-License-Identifier: MIT */
/* Documents: their headers, clients that have them, and links to them. */
#include "server_fixture.h"

static void serve_document(struct http_exchange *x, void *userdata)
{
	static const struct http_document document = {"text/x-test", "\"e1\"", "default-src 'self'",
						      (const unsigned char *)"content", 7};

	(void)userdata;
	http_exchange_reply_document(x, &document);
}

static const struct http_route served[] = {
	{"/", HTTP_ROLE_READ, HTTP_TAKES_LINKS, serve_document},
	{"/other", HTTP_ROLE_READ, 0, serve_document},
	{0},
};

/* The whole answer to a request with these headers; the server hangs up behind it. */
static const char *answer_to(const char *path, const char *headers)
{
	static char answer[4096];
	size_t length = 0;
	char request[512];
	struct fixture f;
	ssize_t n;
	int fd;

	fixture_init(&f, (struct http_server_options){.routes = served});
	assert_int_equal(unixsock_connect(f.path, &fd), 0);
	n = snprintf(request, sizeof(request),
		     "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", path,
		     headers);
	assert_int_equal(send(fd, request, (size_t)n, MSG_NOSIGNAL), n);
	for (uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;;) {
		assert_true(clock_ns(CLOCK_MONOTONIC) < end_ns);
		assert_true(sd_event_run(f.loop, 10000) >= 0);
		n = recv(fd, answer + length, sizeof(answer) - 1 - length, MSG_DONTWAIT);
		if (!n)
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	answer[length] = '\0';
	close(fd);
	fixture_deinit(&f);
	return answer;
}

static bool has(const char *answer, const char *text)
{
	return strstr(answer, text);
}

static void test_headers(void **state)
{
	const char *answer = answer_to("/", "");

	(void)state;
	assert_true(has(answer, "HTTP/1.1 200"));
	assert_true(has(answer, "Content-Type: text/x-test\r\n"));
	assert_true(has(answer, "ETag: \"e1\"\r\n"));
	assert_true(has(answer, "Cache-Control: no-cache\r\n"));
	assert_true(has(answer, "Content-Security-Policy: default-src 'self'\r\n"));
	assert_true(has(answer, "X-Content-Type-Options: nosniff\r\n"));
	assert_true(has(answer, "Referrer-Policy: no-referrer\r\n"));
	assert_true(has(answer, "\r\n\r\ncontent"));
}

static void test_not_modified(void **state)
{
	const char *answer = answer_to("/", "If-None-Match: \"e0\", \"e1\"\r\n");

	(void)state;
	assert_true(has(answer, "HTTP/1.1 304"));
	assert_true(has(answer, "ETag: \"e1\"\r\n"));
	assert_false(has(answer, "content"));
	assert_true(has(answer_to("/", "If-None-Match: \"e2\"\r\n"), "\r\n\r\ncontent"));
}

#define OTHER_SITE "Sec-Fetch-Site: cross-site\r\n"
#define LINK       OTHER_SITE "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
#define FRAME      OTHER_SITE "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"
#define SCRIPT     OTHER_SITE "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n"

static void test_links(void **state)
{
	(void)state;
	assert_true(has(answer_to("/", LINK), "HTTP/1.1 200"));
	assert_true(has(answer_to("/other", LINK), "HTTP/1.1 403"));
	assert_true(has(answer_to("/nothing", LINK), "HTTP/1.1 404"));
	assert_true(has(answer_to("/", FRAME), "HTTP/1.1 403"));
	assert_true(has(answer_to("/", SCRIPT), "HTTP/1.1 403"));
	assert_true(has(answer_to("/", OTHER_SITE), "HTTP/1.1 403"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_not_modified),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
