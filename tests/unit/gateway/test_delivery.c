/* SPDX-License-Identifier: MIT */
/*
 * Requests that deliver something, by the real gateway to a server in a thread, which keeps what it
 * was asked and answers by the path: headers and types arrive as they were given, nothing of them
 * gets elsewhere, and whatever the answer is, its status arrives and its body is bounded. Without
 * an answer, it is known whether the server can have got the request.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fetch/fetcher.h"
#include "client/formats/gzip.h"
#include "tests/support/says.h"

#define ASKED_MAX  65536
#define SECRET     "Bearer kept.secret"
#define TIMEOUT_MS 20000

struct server {
	int listener, end[2];
	unsigned port;
	pthread_t thread;
	pthread_mutex_t lock;
	char asked[ASKED_MAX]; /* the last request, and its body */
	size_t length;
	unsigned n_asked;
	atomic_uint n_connections;
};

/* Of the header, and of the body that it announces. 0: not there yet. */
static size_t request_length(const char *text, size_t length)
{
	const char *end = memmem(text, length, "\r\n\r\n", 4);
	const char *announced = end ? strcasestr(text, "\r\nContent-Length: ") : NULL;
	size_t body = announced && announced < end ? strtoul(announced + 18, NULL, 10) : 0;

	return end && (size_t)(end + 4 - text) + body <= length ? (size_t)(end + 4 - text) + body
								: 0;
}

static void send_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t n = send(fd, at, length, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* it has hung up */
		at += n;
		length -= (size_t)n;
	}
}

static void answer(int fd, const char *status, const char *header, const void *body, size_t length)
{
	char head[300];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n", status,
		 length, header);
	send_all(fd, head, strlen(head));
	send_all(fd, body, length);
}

/* "bomb": much more than it looks. */
static void answer_compressed(int fd, const char *text, size_t length)
{
	uint8_t *data = NULL;
	size_t size = 0;

	if (gzip_pack(text, length, &data, &size))
		abort();
	answer(fd, "200 OK", "Content-Encoding: gzip\r\n", data, size);
	free(data);
}

/* "wait" and how long: a number of seconds, or "date" and the seconds until then. */
static void answer_wait(const char *how, int fd)
{
	const bool is_date = strncmp(how, "date", 4) == 0;
	char header[100], text[64];
	struct tm tm;
	time_t then = time(NULL) + (is_date ? atol(how + 4) : 0);

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(how, " "), how);
	if (is_date)
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
	snprintf(header, sizeof(header), "Retry-After: %s\r\n", text);
	answer(fd, "429 Too Many Requests", header, "wait", 4);
}

static void answer_path(const char *asked, int fd)
{
	static char much[300000];

	memset(much, 'x', sizeof(much));
	if (strstr(asked, " /moved "))
		answer(fd, "302 Found", "Location: /stolen\r\n", "elsewhere", 9);
	else if (strstr(asked, " /hangup "))
		return;
	else if (strstr(asked, " /halfheader "))
		send_all(fd, "HTTP/1.1 200 OK\r\nContent-Le", 27);
	else if (strstr(asked, " /interim "))
		send_all(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", 42);
	else if (strstr(asked, " /untilitends "))
		send_all(fd, "HTTP/1.1 200 OK\r\n\r\nall", 22);
	else if (strstr(asked, " /kept "))
		send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept", 42);
	else if (strncmp(asked, "POST /wait", 10) == 0)
		answer_wait(asked + 10, fd);
	else if (strstr(asked, " /busy "))
		answer(fd, "429 Too Many Requests", "", "slow down", 9);
	else if (strstr(asked, " /much "))
		answer(fd, "200 OK", "", much, sizeof(much));
	else if (strstr(asked, " /muchtrouble "))
		answer(fd, "500 Trouble", "", much, sizeof(much));
	else if (strstr(asked, " /packed "))
		answer_compressed(fd, "unpacked", 8);
	else if (strstr(asked, " /bomb "))
		answer_compressed(fd, much, sizeof(much));
	else
		answer(fd, "202 Accepted", "", "thanks", 6);
}

/* Whether the connection is kept. */
static bool serve_one(struct server *s, int fd)
{
	cleanup(freep) char *asked = calloc(1, ASKED_MAX);
	size_t length = 0;
	ssize_t n;

	if (!asked)
		abort();
	while (!request_length(asked, length)) {
		n = recv(fd, asked + length, ASKED_MAX - 1 - length, 0);
		if (n <= 0)
			return false;
		length += (size_t)n;
	}
	pthread_mutex_lock(&s->lock);
	memcpy(s->asked, asked, length);
	s->asked[length] = '\0';
	s->length = length;
	s->n_asked++;
	pthread_mutex_unlock(&s->lock);
	answer_path(asked, fd);
	return strstr(asked, " /kept ");
}

static void serve_connection(struct server *s, int fd)
{
	s->n_connections++;
	while (serve_one(s, fd))
		;
}

static void *serve(void *userdata)
{
	struct server *s = userdata;
	struct pollfd fds[] = {{.fd = s->listener, .events = POLLIN},
			       {.fd = s->end[0], .events = POLLIN}};

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		serve_connection(s, fd);
		close(fd);
	}
	return NULL;
}

static int setup(void **state)
{
	struct sockaddr_in place = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(place);
	struct server *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&place, sizeof(place)), 0);
	assert_int_equal(listen(s->listener, 8), 0);
	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&place, &size), 0);
	s->port = ntohs(place.sin_port);
	assert_int_equal(pipe2(s->end, O_CLOEXEC), 0);
	pthread_mutex_init(&s->lock, NULL);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	close(s->end[1]);
	pthread_join(s->thread, NULL);
	close(s->end[0]);
	close(s->listener);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return 0;
}

static struct fetcher *new_fetcher(void)
{
	const struct fetcher_options options = {.path = TEST_PROGRAMS "/../bin/profd-gateway",
						.is_http = true};
	struct fetcher *f = NULL;

	assert_int_equal(fetcher_new(&f, &options), 0);
	return f;
}

static struct http_request delivery(void)
{
	static const uint8_t body[] = "a body\0of any bytes\xff";

	return (struct http_request){
		.body = body,
		.length = sizeof(body) - 1,
		.content_type = "application/x-protobuf",
		.headers = "# from a file\nAuthorization: " SECRET "\r\nX-Scope-OrgID: team a\n",
		.is_delivery = true,
		.timeout_ms = TIMEOUT_MS,
		.max_bytes = 1000,
	};
}

/* What the server noted by now is ours to read; what we have read is the server's again. */
static void meet_server(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* The outcome; of FETCH_DONE the status and the body. */
static int deliver(struct server *s, struct fetcher *f, const char *path,
		   const struct http_request *asked, struct fetcher_message *message,
		   unsigned *ret_status, char ret_body[4096])
{
	struct http_request request = *asked;
	struct http_answer got;
	char url[100];
	ssize_t n;
	int r;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", s->port, path);
	request.url = url;
	*message = (struct fetcher_message){{0}};
	meet_server(s);
	r = http_send(f, &request, message);
	r = r ? r : http_receive(f, &got, message);
	meet_server(s);
	assert_null(strstr(message->text, "secret"));
	if (r)
		return r;
	n = read(got.fd, ret_body, 4095);
	assert_true(n >= 0);
	ret_body[n] = '\0';
	*ret_status = got.status;
	close(got.fd);
	return r;
}

static void assert_delivered(struct server *s, struct fetcher *f, const char *path,
			     const struct http_request *request, unsigned status, const char *body)
{
	struct fetcher_message message;
	char text[4096];
	unsigned got;

	if (deliver(s, f, path, request, &message, &got, text))
		fail_msg("%s: %s", path, message.text);
	assert_int_equal(got, status);
	assert_string_equal(text, body);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strcasestr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void test_as_given(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct http_request request = delivery();

	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	assert_int_equal(strncmp(s->asked, "POST /v1 HTTP/1.1\r\n", 19), 0);
	assert_non_null(strstr(s->asked, "\r\nAuthorization: " SECRET "\r\n"));
	assert_non_null(strstr(s->asked, "\r\nX-Scope-OrgID: team a\r\n"));
	assert_non_null(strstr(s->asked, "\r\nContent-Type: application/x-protobuf\r\n"));
	assert_int_equal(count_of(s->asked, "content-type:"), 1);
	assert_int_equal(count_of(s->asked, "content-encoding:"), 0);
	assert_int_equal(count_of(s->asked, "expect:"), 0);
	assert_null(strstr(s->asked, "file"));
	assert_memory_equal(s->asked + s->length - request.length, request.body, request.length);
	request.content_encoding = "gzip";
	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	assert_non_null(strstr(s->asked, "\r\nContent-Encoding: gzip\r\n"));
	/* The next one has nothing of it. */
	request = (struct http_request){.timeout_ms = TIMEOUT_MS, .max_bytes = 1000};
	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	assert_int_equal(strncmp(s->asked, "GET /v1 HTTP/1.1\r\n", 18), 0);
	assert_int_equal(count_of(s->asked, "authorization:") + count_of(s->asked, "content-"), 0);
	request.body = (const uint8_t *)"x";
	request.length = 1;
	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	assert_non_null(strstr(s->asked, "\r\nContent-Type: application/octet-stream\r\n"));
}

static uint32_t retry_after(struct server *s, struct fetcher *f, const char *path)
{
	struct http_request request = delivery();
	struct fetcher_message message;
	struct http_answer got;
	char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", s->port, path);
	request.url = url;
	assert_int_equal(http_send(f, &request, &message), FETCH_DONE);
	assert_int_equal(http_receive(f, &got, &message), FETCH_DONE);
	close(got.fd);
	return got.retry_after_s;
}

/* A server that asks to be left alone does so in seconds, or by a date. */
static void test_retry_after(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();

	assert_int_equal(retry_after(s, f, "/wait120"), 120);
	assert_in_range(retry_after(s, f, "/waitdate100000"), 90000, 100000);
	/* Of the answer before. */
	assert_int_equal(retry_after(s, f, "/busy"), 0);
	assert_int_equal(retry_after(s, f, "/waitdate-100"), 0);
	assert_int_equal(retry_after(s, f, "/wait-100"), 0);
	assert_int_equal(retry_after(s, f, "/waitsoon"), 0);
	assert_int_equal(retry_after(s, f, "/wait99999999999"), UINT32_MAX);
}

static void test_whatever_status(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct http_request request = delivery();

	assert_delivered(s, f, "/busy", &request, 429, "slow down");
	assert_delivered(s, f, "/untilitends", &request, 200, "all");
	assert_delivered(s, f, "/moved", &request, 302, "elsewhere");
	assert_int_equal(s->n_asked, 3);
	assert_null(strstr(s->asked, "/stolen"));
	/* Others are led on, without a body by then, as browsers are. */
	request.is_delivery = false;
	request.headers = NULL;
	assert_delivered(s, f, "/moved", &request, 202, "thanks");
	assert_int_equal(s->n_asked, 5);
	assert_non_null(strstr(s->asked, "GET /stolen "));
}

/*
 * Deliveries over one connection. When that ends without an answer, libcurl sends what it sent over
 * it once more; we do not.
 */
static void test_kept_connection(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct http_request request = delivery();
	struct fetcher_message message;
	unsigned status, n_connections;
	char text[4096];

	for (unsigned i = 0; i < 3; i++) {
		assert_delivered(s, f, "/kept", &request, 200, "kept");
		assert_non_null(strstr(s->asked, "\r\nAuthorization: " SECRET "\r\n"));
		assert_memory_equal(s->asked + s->length - request.length, request.body,
				    request.length);
	}
	assert_int_equal(s->n_connections, 1);
	assert_int_equal(deliver(s, f, "/hangup", &request, &message, &status, text), FETCH_FAILED);
	assert_int_equal(s->n_asked, 4);
	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	/* Others have one each: they may be for other servers, with other certificates. */
	n_connections = s->n_connections;
	request.is_delivery = false;
	request.headers = NULL;
	assert_delivered(s, f, "/kept", &request, 200, "kept");
	assert_delivered(s, f, "/kept", &request, 200, "kept");
	assert_int_equal(s->n_connections, n_connections + 2);
}

static void test_bounds(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct http_request request = delivery();
	struct fetcher_message message;
	char text[4096], expected[1001];
	unsigned status;

	memset(expected, 'x', 1000);
	expected[1000] = '\0';
	assert_delivered(s, f, "/much", &request, 200, expected);
	assert_delivered(s, f, "/muchtrouble", &request, 500, expected);
	request.content_encoding = "gzip";
	assert_delivered(s, f, "/packed", &request, 200, "unpacked");
	assert_delivered(s, f, "/bomb", &request, 200, expected);
	request.is_delivery = false;
	request.headers = NULL;
	assert_int_equal(deliver(s, f, "/much", &request, &message, &status, text), FETCH_FAILED);
	assert_says(message.text, "sends more than");
}

/* Without an answer: whether the server may have done what was asked for. */
static bool may_be_done(const char *url, struct http_request request)
{
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct fetcher_message message = {{0}};
	struct http_answer got = {.fd = 7};

	request.url = url;
	assert_int_equal(http_send(f, &request, &message), FETCH_DONE);
	assert_int_equal(http_receive(f, &got, &message), FETCH_FAILED);
	assert_int_equal(got.fd, -1);
	return got.may_be_done;
}

static void test_what_may_be_done(void **state)
{
	struct server *s = *state;
	struct http_request request = delivery();
	const size_t length = (size_t)64 << 20; /* no buffer has room for that */
	cleanup(freep) uint8_t *large = calloc(1, length);
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/hangup", s->port);
	assert_true(may_be_done(url, request));
	/* Half an answer is none, whatever its status. */
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/halfheader", s->port);
	assert_true(may_be_done(url, request));
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/interim", s->port);
	assert_true(may_be_done(url, request));
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/", s->port);
	request.timeout_ms = 500; /* the server does not hang up */
	assert_false(may_be_done(url, request));
	request.timeout_ms = TIMEOUT_MS;
	assert_false(may_be_done("http://127.0.0.1:1/", request));
	/* The server hangs up in the middle of it. */
	assert_non_null(large);
	request.body = large;
	request.length = length;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/hangup", s->port);
	assert_false(may_be_done(url, request));
}

static void assert_refused(struct server *s, const struct http_request *request, const char *says)
{
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	struct fetcher_message message;
	unsigned status, n_asked = s->n_asked;
	char text[4096];

	assert_int_equal(deliver(s, f, "/v1", request, &message, &status, text), FETCH_FAILED);
	assert_says(message.text, says);
	assert_int_equal(s->n_asked, n_asked);
}

static void test_injection(void **state)
{
	struct server *s = *state;
	cleanup(freep) char *large = calloc(1, HTTP_HEADERS_MAX + 2);
	char type[HTTP_CONTENT_TYPE_MAX + 2] = "";
	struct http_request request = delivery();

	request.headers = "a: b\nsecret\n";
	assert_refused(s, &request, "line 2 of the headers is not 'Name: value'");
	request.headers = "a: b\rX: secret";
	assert_refused(s, &request, "line 1 of the headers has a character");
	request.headers = "Content-Length: 3";
	assert_refused(s, &request, "line 1 of the headers sets what");
	assert_non_null(large);
	memset(large, '\n', HTTP_HEADERS_MAX + 1);
	request.headers = large;
	assert_refused(s, &request, "the headers are larger than 16 KiB");
	request = delivery();
	request.is_delivery = false;
	assert_refused(s, &request, "headers are for deliveries");
	request = delivery();
	request.content_type = "a\r\nX: y";
	assert_refused(s, &request, "no such type");
	request.content_type = NULL;
	request.content_encoding = "gzip\nX: y";
	assert_refused(s, &request, "no such type");
	memset(type, 'x', HTTP_CONTENT_TYPE_MAX + 1);
	request.content_encoding = type;
	assert_refused(s, &request, "no such type");
}

static void assert_not_in(pid_t pid, const char *file)
{
	char path[64], data[65536];
	FILE *in;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	in = fopen(path, "r");
	assert_non_null(in);
	n = fread(data, 1, sizeof(data), in);
	fclose(in);
	assert_null(memmem(data, n, SECRET, strlen(SECRET)));
}

/* What others can see of the process that sends it. */
static void test_secrets(void **state)
{
	struct server *s = *state;
	cleanup(fetcher_freep) struct fetcher *f = new_fetcher();
	const struct http_request request = delivery();

	assert_delivered(s, f, "/v1", &request, 202, "thanks");
	assert_not_in(fetcher_pid(f), "cmdline");
	assert_not_in(fetcher_pid(f), "environ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_as_given),        TEST(test_whatever_status), TEST(test_bounds),
		TEST(test_injection),       TEST(test_secrets),         TEST(test_what_may_be_done),
		TEST(test_kept_connection), TEST(test_retry_after),
	};

	return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
