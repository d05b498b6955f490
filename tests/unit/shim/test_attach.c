/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/packet.h"
#include "common/shim/attach.h"
#include "common/shim/ring_reader.h"
#include "common/shim/ring_writer.h"
#include "common/unixsock.h"
#include "control.pb-c.h"

#define TIMEOUT_MS 5000

/* The constants are what the generated code makes of them. */
static void test_bytes(void **state)
{
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	uint8_t bytes[64];
	size_t n;

	(void)state;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_ATTACH_SHIM;
	request.attach_shim = &empty;
	n = profd__control__request__pack(&request, bytes + PACKET_HEADER_SIZE);
	packet_put_header(bytes, n);
	assert_int_equal(n + PACKET_HEADER_SIZE, ATTACH_REQUEST_SIZE);
	assert_memory_equal(bytes, attach_request, ATTACH_REQUEST_SIZE);
	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_OK;
	response.ok = &empty;
	n = profd__control__response__pack(&response, bytes + PACKET_HEADER_SIZE);
	packet_put_header(bytes, n);
	assert_int_equal(n + PACKET_HEADER_SIZE, ATTACH_ANSWER_SIZE);
	assert_memory_equal(bytes, attach_answer, ATTACH_ANSWER_SIZE);
}

static size_t pack_error(uint8_t *bytes, const char *text, Profd__Control__ErrorCode code)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	size_t n;

	error.code = code;
	error.message = (char *)(uintptr_t)text;
	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_ERROR;
	response.error = &error;
	n = profd__control__response__pack(&response, bytes + PACKET_HEADER_SIZE);
	packet_put_header(bytes, n);
	return n + PACKET_HEADER_SIZE;
}

static void test_answers(void **state)
{
	struct attach_reason reason = {"untouched"};
	uint8_t bytes[1024];
	char text[400];
	size_t n;

	(void)state;
	n = pack_error(bytes, "the quota\nis reached", PROFD__CONTROL__ERROR_CODE__DENIED);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(attach_parse_answer(bytes, i, &reason), ATTACH_ANSWER_PARTIAL);
	assert_string_equal(reason.text, "untouched");
	assert_int_equal(attach_parse_answer(bytes, n, &reason), ATTACH_E_REFUSED);
	assert_string_equal(reason.text, "the quota?is reached");
	n = pack_error(bytes, "", PROFD__CONTROL__ERROR_CODE__NONE);
	assert_int_equal(attach_parse_answer(bytes, n, &reason), ATTACH_E_REFUSED);
	assert_string_equal(reason.text, "");
	/* A long one is cut. */
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	n = pack_error(bytes, text, PROFD__CONTROL__ERROR_CODE__FAILED);
	assert_int_equal(attach_parse_answer(bytes, n, &reason), ATTACH_E_REFUSED);
	assert_int_equal(strlen(reason.text), sizeof(reason.text) - 1);
	assert_int_equal(attach_parse_answer(attach_answer, ATTACH_ANSWER_SIZE, &reason),
			 ATTACH_E_OK);
	/* Somebody else's protocol. */
	assert_int_equal(attach_parse_answer((const uint8_t *)"HTTP/1.1", 8, &reason),
			 ATTACH_E_NOBODY);
	assert_int_equal(attach_parse_answer((const uint8_t *)"\0\0\0\0", 4, &reason),
			 ATTACH_E_NOBODY);
	assert_int_equal(attach_parse_answer((const uint8_t *)"\0\0\0\3\x12\x7f\0", 7, &reason),
			 ATTACH_E_NOBODY);
}

struct server {
	char dir[64], path[96];
	int fd;
	pthread_t thread;
	struct attach_ring ring;
	const uint8_t *answer; /* instead of a ring */
	size_t answer_size;
};

static void server_init(struct server *s)
{
	memset(s, 0, sizeof(*s));
	s->ring = ATTACH_RING_NONE;
	strcpy(s->dir, "/tmp/test-attach-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/socket", s->dir);
	assert_int_equal(unixsock_listen(s->path, 0600, (gid_t)-1, &s->fd), 0);
}

static void server_deinit(struct server *s)
{
	attach_ring_deinit(&s->ring);
	close(s->fd);
	unlink(s->path);
	rmdir(s->dir);
}

/* Serves one. */
static void *serve(void *userdata)
{
	struct server *s = userdata;
	cleanup(freep) uint8_t *request = NULL;
	cleanup(closep) int fd = -1;
	size_t size;

	while (fd < 0) {
		fd = accept(s->fd, NULL, NULL);
		usleep(1000);
	}
	if (unixsock_receive(fd, PACKET_REQUEST_MAX, TIMEOUT_MS, &request, &size))
		return NULL;
	if (s->answer)
		return send(fd, s->answer, s->answer_size, MSG_NOSIGNAL) < 0 ? NULL : s;
	if (!attach_send(fd, &s->ring))
		return NULL;
	attach_ring_close_sent(&s->ring);
	return s;
}

static int attach_to_server(struct server *s, int timeout_ms, int fds[2],
			    struct attach_reason *reason)
{
	void *good;
	int r;

	fds[0] = fds[1] = -1;
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	r = attach_connect(s->path, timeout_ms, &fds[0], &fds[1], reason);
	pthread_join(s->thread, &good);
	assert_non_null(good);
	return r;
}

static void test_handshake(void **state)
{
	struct attach_reason reason;
	struct ring_writer writer;
	struct server s;
	char byte;
	int fds[2];

	(void)state;
	server_init(&s);
	assert_int_equal(attach_ring_init(&s.ring, RING_WORDS_MIN), 0);
	ring_reader_set_frequency(s.ring.reader, 123);
	assert_int_equal(attach_to_server(&s, TIMEOUT_MS, fds, &reason), ATTACH_E_OK);
	assert_true(ring_writer_open(&writer, fds[0], fds[1]));
	close(fds[0]);
	assert_int_equal(ring_writer_frequency(&writer), 123);
	assert_int_equal(recv(s.ring.bell, &byte, 1, 0), -1);
	ring_writer_close(&writer);
	assert_int_equal(recv(s.ring.bell, &byte, 1, 0), 0);
	server_deinit(&s);
}

static void test_refused(void **state)
{
	struct attach_reason reason = {""};
	uint8_t bytes[256];
	struct server s;
	int fds[2];

	(void)state;
	server_init(&s);
	s.answer = bytes;
	s.answer_size = pack_error(bytes, "no", PROFD__CONTROL__ERROR_CODE__DENIED);
	assert_int_equal(attach_to_server(&s, TIMEOUT_MS, fds, &reason), ATTACH_E_REFUSED);
	assert_string_equal(reason.text, "no");
	/* Yes, but no ring. */
	s.answer = attach_answer;
	s.answer_size = ATTACH_ANSWER_SIZE;
	assert_int_equal(attach_to_server(&s, TIMEOUT_MS, fds, &reason), ATTACH_E_NOBODY);
	/* Half of an answer. */
	s.answer_size = 3;
	assert_int_equal(attach_to_server(&s, TIMEOUT_MS, fds, &reason), ATTACH_E_NOBODY);
	server_deinit(&s);
}

static void test_nobody(void **state)
{
	struct attach_reason reason;
	struct server s;
	char longest[200];
	int fds[2];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	server_init(&s);
	/* One who listens and says nothing. */
	assert_int_equal(attach_connect(s.path, 50, &fds[0], &fds[1], &reason), ATTACH_E_TIMEOUT);
	close(s.fd);
	assert_int_equal(attach_connect(s.path, 50, &fds[0], &fds[1], &reason), ATTACH_E_NOBODY);
	assert_int_equal(attach_connect(s.dir, 50, &fds[0], &fds[1], &reason), ATTACH_E_NOBODY);
	assert_int_equal(attach_connect("", 50, &fds[0], &fds[1], &reason), ATTACH_E_NOBODY);
	assert_int_equal(attach_connect(longest, 50, &fds[0], &fds[1], &reason), ATTACH_E_NOBODY);
	s.fd = -1;
	unlink(s.path);
	rmdir(s.dir);
}

/* More want in than are let in: they wait, but not for ever. */
static void test_queue(void **state)
{
	struct attach_reason reason;
	int fds[2], r, n = 0;
	struct server s;

	(void)state;
	server_init(&s);
	assert_int_equal(listen(s.fd, 1), 0);
	do
		r = attach_connect(s.path, 1, &fds[0], &fds[1], &reason);
	while (r == ATTACH_E_TIMEOUT && ++n < 20);
	assert_int_equal(r, ATTACH_E_TIMEOUT);
	server_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),     cmocka_unit_test(test_answers),
		cmocka_unit_test(test_handshake), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nobody),    cmocka_unit_test(test_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
