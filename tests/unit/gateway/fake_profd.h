/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_GATEWAY_FAKE_PROFD_H
#define PROFD_TESTS_UNIT_GATEWAY_FAKE_PROFD_H

/* A profd that knows one request, in a thread: it says what debug files it wants. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/packet.h"
#include "common/unixsock.h"
#include "control.pb-c.h"

#define FAKE_IDS_MAX    512
#define FAKE_TIMEOUT_MS 10000

enum fake_mode {
	FAKE_IDS,
	FAKE_ERROR,
	FAKE_TEXT, /* an answer, but to another question */
	FAKE_GARBAGE,
	FAKE_CLOSE,
	FAKE_SILENT, /* until it ends */
};

struct fake_profd {
	char dir[40], path[64];
	int listener, end[2];
	pthread_t thread;
	pthread_mutex_t lock;
	enum fake_mode mode;
	size_t n_ids;
	ProtobufCBinaryData ids[FAKE_IDS_MAX];
	unsigned n_asked;
	int silent; /* the connection of FAKE_SILENT */
};

static inline void fake_profd_answer(struct fake_profd *p, int fd)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__BuildIds ids = PROFD__CONTROL__BUILD_IDS__INIT;
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	static char not_for_you[] = "this is not for you", text[] = "s1";
	size_t size;
	uint8_t *data;

	error.code = PROFD__CONTROL__ERROR_CODE__DENIED;
	error.message = not_for_you;
	ids.n_build_ids = p->n_ids;
	ids.build_ids = p->ids;
	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS;
	response.build_ids = &ids;
	if (p->mode == FAKE_ERROR) {
		response.result_case = PROFD__CONTROL__RESPONSE__RESULT_ERROR;
		response.error = &error;
	} else if (p->mode == FAKE_TEXT) {
		response.result_case = PROFD__CONTROL__RESPONSE__RESULT_TEXT;
		response.text = text;
	}
	size = profd__control__response__get_packed_size(&response);
	data = malloc(size + 1);
	if (!data)
		abort();
	profd__control__response__pack(&response, data);
	if (p->mode == FAKE_GARBAGE)
		memset(data, 0xff, size);
	(void)!unixsock_send(fd, data, size, FAKE_TIMEOUT_MS);
	free(data);
}

static inline void fake_profd_serve(struct fake_profd *p, int fd)
{
	Profd__Control__Request *request;
	uint8_t *data = NULL;
	size_t size;

	if (unixsock_receive(fd, PACKET_REQUEST_MAX, FAKE_TIMEOUT_MS, &data, &size) == 0) {
		request = profd__control__request__unpack(NULL, size, data);
		if (!request || request->verb_case != PROFD__CONTROL__REQUEST__VERB_WANTED)
			abort();
		profd__control__request__free_unpacked(request, NULL);
		free(data);
		pthread_mutex_lock(&p->lock);
		p->n_asked++;
		if (p->mode == FAKE_SILENT)
			p->silent = dup(fd);
		else if (p->mode != FAKE_CLOSE)
			fake_profd_answer(p, fd);
		pthread_mutex_unlock(&p->lock);
	}
	close(fd);
}

static inline void *fake_profd_run(void *userdata)
{
	struct fake_profd *p = userdata;

	for (;;) {
		struct pollfd fds[] = {{.fd = p->listener, .events = POLLIN},
				       {.fd = p->end[0], .events = POLLIN}};
		int fd;

		if (poll(fds, 2, -1) < 0 || fds[1].revents)
			return NULL;
		fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			fake_profd_serve(p, fd);
	}
}

static inline struct fake_profd *fake_profd_new(void)
{
	struct fake_profd *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->dir, "/tmp/profd-fake-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/socket", p->dir);
	p->silent = -1;
	assert_int_equal(pthread_mutex_init(&p->lock, NULL), 0);
	assert_int_equal(unixsock_listen(p->path, 0600, (gid_t)-1, &p->listener), 0);
	assert_int_equal(pipe(p->end), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, fake_profd_run, p), 0);
	return p;
}

static inline void fake_profd_set(struct fake_profd *p, enum fake_mode mode)
{
	pthread_mutex_lock(&p->lock);
	p->mode = mode;
	pthread_mutex_unlock(&p->lock);
}

static inline void fake_profd_want(struct fake_profd *p, const uint8_t *id, size_t length)
{
	uint8_t *copy = malloc(length + 1);

	assert_non_null(copy);
	assert_true(p->n_ids < FAKE_IDS_MAX);
	memcpy(copy, id, length);
	pthread_mutex_lock(&p->lock);
	p->ids[p->n_ids++] = (ProtobufCBinaryData){.len = length, .data = copy};
	pthread_mutex_unlock(&p->lock);
}

static inline unsigned fake_profd_asked(struct fake_profd *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->n_asked;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* Returns how often it was asked. */
static inline unsigned fake_profd_free(struct fake_profd *p)
{
	unsigned n_asked;

	close(p->end[1]);
	assert_int_equal(pthread_join(p->thread, NULL), 0);
	close(p->end[0]);
	close(p->listener);
	if (p->silent >= 0)
		close(p->silent);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(rmdir(p->dir), 0);
	pthread_mutex_destroy(&p->lock);
	for (size_t i = 0; i < p->n_ids; i++)
		free(p->ids[i].data);
	n_asked = p->n_asked;
	free(p);
	return n_asked;
}

#endif
