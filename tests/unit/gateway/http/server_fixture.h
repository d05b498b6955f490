/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_GATEWAY_HTTP_SERVER_FIXTURE_H
#define PROFD_TESTS_UNIT_GATEWAY_HTTP_SERVER_FIXTURE_H

/* A server at a Unix socket, in a loop that clients of the same process turn. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gateway/http/places.h"
#include "client/gateway/http/server.h"
#include "common/clock.h"
#include "common/unixsock.h"

#define TIMEOUT_NS (60 * NS_PER_S)

struct fixture {
	char dir[40], path[64];
	sd_event *loop;
	struct http_listener *listener;
	struct http_server *server;
	struct http_access access;
	struct http_counters counters;
	struct http_places *places; /* 8, 2 of a client */
};

static inline void fixture_init(struct fixture *f, struct http_server_options options)
{
	static char *const none[] = {NULL};
	struct http_message message;

	*f = (struct fixture){.dir = "/tmp/profd-server-XXXXXX"};
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
	assert_true(sd_event_new(&f->loop) >= 0);
	assert_int_equal(http_listener_new(&f->listener, f->path, NULL, &message), 0);
	options.loop = f->loop;
	options.listener = f->listener;
	options.userdata = f;
	f->access.allowed_hosts = none;
	options.access = &f->access;
	options.counters = &f->counters;
	assert_int_equal(http_places_new(&f->places, 8, 2), 0);
	assert_int_equal(http_server_new(&f->server, &options, &message), 0);
}

static inline void fixture_deinit(struct fixture *f)
{
	http_server_free(f->server);
	http_listener_free(f->listener);
	http_places_free(f->places);
	assert_int_equal(f->counters.connections, 0);
	sd_event_unref(f->loop);
	rmdir(f->dir);
}

static inline void send_request(int fd, const char *path)
{
	char text[100];
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);

	assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

static inline int begin(const struct fixture *f, const char *path)
{
	int fd;

	assert_int_equal(unixsock_connect(f->path, &fd), 0);
	send_request(fd, path);
	return fd;
}

/* Of the answer, the first bytes of which are taken. 0: the connection is closed. */
static inline unsigned status_of(const struct fixture *f, int fd)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;
	char line[] = "HTTP/1.1 000";
	ssize_t n;

	do {
		assert_true(clock_ns(CLOCK_MONOTONIC) < end_ns);
		assert_true(sd_event_run(f->loop, 10000) >= 0);
		n = recv(fd, line, strlen(line), MSG_DONTWAIT);
	} while (n < 0);
	return n ? (unsigned)atoi(line + strlen("HTTP/1.1 ")) : 0;
}

/* The server hangs up; what was sent before is taken. */
static inline void await_end(const struct fixture *f, int fd)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_NS;
	char data[4096];

	while (recv(fd, data, sizeof(data), MSG_DONTWAIT)) {
		assert_true(clock_ns(CLOCK_MONOTONIC) < end_ns);
		assert_true(sd_event_run(f->loop, 10000) >= 0);
	}
}

#endif
