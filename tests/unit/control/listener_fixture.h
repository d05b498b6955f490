/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_CONTROL_LISTENER_FIXTURE_H
#define PROFD_TESTS_UNIT_CONTROL_LISTENER_FIXTURE_H

/*
 * The listener in a real event loop on a real socket, with verbs of the tests' own. Clients are
 * plain fds.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/packet.h"
#include "common/shim/attach.h"
#include "common/shim/ring_reader.h"
#include "common/unixsock.h"
#include "daemon/control/buckets.h"
#include "daemon/control/control.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/output/collect.h"
#include "daemon/output/symbols.h"
#include "tests/support/says.h"

#define STALL_NS UINT64_C(400000000) /* of the tests that wait for it */
#define STALL_MS 600                 /* by then it is over */
#define NOBODY   65534

struct world {
	char dir[32], path[48];
	sd_event *loop;
	struct listener *listener;
	struct reply *pending;         /* of flush and stop */
	Profd__Control__Start started; /* without its texts */
	uid_t started_uid;
	bool started_pidfd;
	unsigned n_calls, n_sessions, n_busy; /* how often `epoch` is busy */
	struct buckets buckets[2];
	size_t config_size, n_paths;
	uint64_t stall_ns; /* 0: the default, longer than any test */
	bool fail, silent;
	pid_t attached; /* whose is ring, if that is sent */
	uid_t attached_uid;
	struct attach_ring ring;
	bool ring_sent;
};

static inline int verb_start(const struct control_call *call)
{
	Profd__Control__Start *start = call->message;
	struct world *w = call->userdata;
	struct source_message why;
	int r = request_check_start(start, &why), pidfd = -1;

	if (!r)
		r = policy_check_start(call->peer, call->proc_fd, w->n_sessions, start, &pidfd,
				       &why);
	if (r)
		return request_refuse(call, r, &why);
	w->n_calls++;
	w->started = *start;
	w->started_uid = call->peer->uid;
	w->started_pidfd = pidfd >= 0;
	closep(&pidfd);
	reply_text(call->reply, "s1");
	return CONTROL_DONE;
}

/* Of the @n files of a session that stopped. */
#define PATH_FORMAT \
	"/var/lib/profd/sessions/s1-work/20261121/20261121T%06zuZ-60s.service-%zu.pb.gz\n"

static inline void reply_many_paths(struct reply *reply, size_t n)
{
	struct collected list = {.fd = memfd_create("paths", MFD_CLOEXEC)};
	FILE *out = fdopen(dup(list.fd), "w");

	assert_non_null(out);
	for (size_t i = 0; i < n; i++)
		list.bytes += (uint64_t)fprintf(out, PATH_FORMAT, i, i);
	assert_int_equal(fclose(out), 0);
	reply_path_list(reply, &list);
	assert_int_equal(list.fd, -1);
}

static inline int verb_stop(const struct control_call *call)
{
	struct world *w = call->userdata;
	cleanup(freep) char *large = calloc(1, w->config_size + 1);
	char *paths[] = {(char[]){"/a"}, (char[]){"/b c"}, w->config_size > 10 ? large : NULL,
			 NULL};
	const Profd__Control__Stop *stop = call->message;

	if (stop->which_case == PROFD__CONTROL__STOP__WHICH_ALL) {
		assert_non_null(large);
		memset(large, 'x', w->config_size);
		reply_paths(call->reply, paths);
		return CONTROL_DONE;
	}
	w->n_calls++;
	if (w->n_paths) {
		reply_many_paths(call->reply, w->n_paths);
		return CONTROL_DONE;
	}
	if (stop->id == 99) {
		reply_error(call->reply, CONTROL_ERROR_FAILED, "no\nsession s%" PRIu64, stop->id);
		return CONTROL_DONE;
	}
	w->pending = call->reply;
	return CONTROL_PENDING;
}

static inline int verb_pause(const struct control_call *call)
{
	((struct world *)call->userdata)->n_calls++;
	reply_ok(call->reply);
	return CONTROL_DONE;
}

static inline int verb_status(const struct control_call *call)
{
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;

	status.version = (char[]){"test"};
	status.pid = (int32_t)call->peer->uid;
	reply_send(call->reply, PROFD__CONTROL__RESPONSE__RESULT_STATUS, &status);
	return CONTROL_DONE;
}

static inline int verb_epoch(const struct control_call *call)
{
	struct world *w = call->userdata;

	if (w->fail)
		return -EIO;
	if (w->n_busy)
		return w->n_busy--, CONTROL_BUSY;
	if (!w->silent)
		reply_text(call->reply, "2611211200");
	return CONTROL_DONE;
}

static inline int verb_config(const struct control_call *call)
{
	struct world *w = call->userdata;
	cleanup(freep) char *text = malloc(w->config_size + 1);

	assert_non_null(text);
	memset(text, 'x', w->config_size);
	text[w->config_size] = '\0';
	reply_text(call->reply, text);
	return CONTROL_DONE;
}

static inline int verb_wanted(const struct control_call *call)
{
	const struct symbols_wanted wanted = {
		.n = 2, .ids = {{.length = 20, .bytes = {0xab, 0, 0xcd}}, {.length = 2}}};

	reply_build_ids(call->reply, &wanted);
	return CONTROL_DONE;
}

static inline int verb_list(const struct control_call *call)
{
	const Profd__Control__List *list = call->message;
	Profd__Control__ListingRow a = PROFD__CONTROL__LISTING_ROW__INIT, b = a;
	Profd__Control__ListingRow *rows[] = {&a, &b};
	Profd__Control__Listing listing = PROFD__CONTROL__LISTING__INIT;

	a.service = (char[]){"a"};
	a.start_ns = list->since_ns;
	b.service = list->service;
	b.samples = 7;
	listing.rows = rows;
	listing.n_rows = ARRAY_SIZE(rows);
	reply_send(call->reply, PROFD__CONTROL__RESPONSE__RESULT_LISTING, &listing);
	return CONTROL_DONE;
}

/* A file of w->config_size bytes, each the low byte of its place's square; a large one of zeros. */
static inline int verb_collect(const struct control_call *call)
{
	struct world *w = call->userdata;
	struct source_message why;
	struct collected collected = {.bytes = w->config_size, .samples = 7};
	int r = request_check_collect(call->message, &why);
	FILE *out;

	if (!r)
		r = policy_check_collect(call->peer, call->proc_fd, call->message, &why);
	if (r)
		return request_refuse(call, r, &why);
	collected.fd = memfd_create("collected", MFD_CLOEXEC);
	out = fdopen(dup(collected.fd), "w");
	assert_non_null(out);
	for (size_t i = 0; i < w->config_size && w->config_size < 4 << 20; i++)
		fputc((int)(i * i & 0xff), out);
	fclose(out);
	assert_int_equal(ftruncate(collected.fd, (off_t)w->config_size), 0);
	reply_collected(call->reply, &collected);
	assert_int_equal(collected.fd, -1);
	return CONTROL_DONE;
}

static inline int verb_attach_shim(const struct control_call *call)
{
	struct world *w = call->userdata;
	struct source_message why;
	int pidfd, r;

	r = policy_check_attach(call->peer, call->proc_fd, &pidfd, &why);
	if (r)
		return request_refuse(call, r, &why);
	assert_true(pidfd >= 0);
	close(pidfd);
	w->n_calls++;
	if (w->fail) {
		reply_error(call->reply, CONTROL_ERROR_FAILED, "too many");
		return CONTROL_DONE;
	}
	attach_ring_deinit(&w->ring);
	assert_int_equal(attach_ring_init(&w->ring, RING_WORDS_MIN), 0);
	w->attached = call->peer->pid;
	w->attached_uid = call->peer->uid;
	w->ring_sent = reply_attached(call->reply, &w->ring);
	attach_ring_close_sent(&w->ring);
	return CONTROL_DONE;
}

#define MESSAGE(type) &profd__control__##type##__descriptor

/* Of each request. */
#define COST_US 1000

static const struct control_verb fixture_verbs[] = {
	{"start", MESSAGE(start), CONTROL_FOR_ALL, COST_US, verb_start},
	{"stop", MESSAGE(stop), CONTROL_FOR_ALL, COST_US, verb_stop},
	{"pause", MESSAGE(pause), CONTROL_FOR_PRIVILEGED, COST_US, verb_pause},
	{"resume", MESSAGE(empty), CONTROL_FOR_PRIVILEGED, COST_US, verb_pause},
	{"status", MESSAGE(empty), CONTROL_FOR_ALL, COST_US, verb_status},
	{"epoch", MESSAGE(empty), CONTROL_FOR_PRIVILEGED, COST_US, verb_epoch},
	{"config", MESSAGE(empty), CONTROL_FOR_PRIVILEGED, COST_US, verb_config},
	{"list", MESSAGE(list), CONTROL_FOR_PRIVILEGED, COST_US, verb_list},
	{"wanted", MESSAGE(empty), CONTROL_FOR_PRIVILEGED, COST_US, verb_wanted},
	{"collect", MESSAGE(collect), CONTROL_FOR_ALL, COST_US, verb_collect},
	{"attach_shim", MESSAGE(empty), CONTROL_FOR_ALL, COST_US, verb_attach_shim},
	{0},
};

static inline struct listener_options options_of(struct world *w)
{
	return (struct listener_options){
		.path = w->path,
		.mode = 0666,
		.fd = -1,
		.group = "no-such-group",
		.verbs = fixture_verbs,
		.userdata = w,
		.buckets = w->buckets,
		.stall_ns = w->stall_ns,
	};
}

static inline int setup_with(void **state, uint64_t stall_ns)
{
	struct world *w = calloc(1, sizeof(*w));
	struct listener_options options;

	assert_non_null(w);
	strcpy(w->dir, "/tmp/test-listener-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(chmod(w->dir, 0755), 0);
	snprintf(w->path, sizeof(w->path), "%s/socket", w->dir);
	w->config_size = 10;
	w->buckets[0].share = w->buckets[1].share = 1;
	w->stall_ns = stall_ns;
	w->ring = ATTACH_RING_NONE;
	assert_true(sd_event_new(&w->loop) >= 0);
	options = options_of(w);
	assert_int_equal(listener_new(&w->listener, w->loop, &options), 0);
	*state = w;
	return 0;
}

static inline int setup(void **state)
{
	return setup_with(state, 0);
}

static inline int setup_impatient(void **state)
{
	return setup_with(state, STALL_NS);
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	listener_free(w->listener);
	sd_event_unref(w->loop);
	assert_int_equal(access(w->path, F_OK), -1);
	assert_int_equal(rmdir(w->dir), 0);
	attach_ring_deinit(&w->ring);
	free(w);
	return 0;
}

/* Longer than the listener, which accepts at a bounded rate, has to be waited for. */
#define ACCEPT_MS 25

static inline void run(struct world *w, unsigned ms)
{
	for (unsigned i = 0; i < ms + ACCEPT_MS; i++)
		while (sd_event_run(w->loop, 1000) > 0)
			;
}

static inline struct listener_stats stats_of(struct world *w)
{
	struct listener_stats stats;

	listener_get_stats(w->listener, &stats);
	return stats;
}

static inline int client(struct world *w)
{
	int fd;

	assert_int_equal(unixsock_connect(w->path, &fd), UNIXSOCK_E_OK);
	return fd;
}

static inline void send_request(int fd, const Profd__Control__Request *request)
{
	uint8_t data[1024];
	size_t size = profd__control__request__get_packed_size(request);

	assert_true(size <= sizeof(data));
	profd__control__request__pack(request, data);
	assert_int_equal(unixsock_send(fd, data, size, 1000), UNIXSOCK_E_OK);
}

static inline void send_verb(int fd, Profd__Control__Request__VerbCase verb)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;

	request.verb_case = verb;
	request.status = &empty;
	send_request(fd, &request);
}

static inline void send_stop(int fd, uint64_t id)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;

	stop.which_case = id ? PROFD__CONTROL__STOP__WHICH_ID : PROFD__CONTROL__STOP__WHICH_ALL;
	if (id)
		stop.id = id;
	else
		stop.all = &empty;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_STOP;
	request.stop = &stop;
	send_request(fd, &request);
}

static inline void send_start(int fd, Profd__Control__TargetKind target, int64_t number,
			      uint64_t rate)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;

	start.target = target;
	start.number = number;
	start.rate = rate;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	request.start = &start;
	send_request(fd, &request);
}

static inline Profd__Control__Response *receive(int fd, int timeout_ms)
{
	cleanup(freep) uint8_t *data = NULL;
	Profd__Control__Response *response;
	size_t size;

	if (unixsock_receive(fd, PACKET_RESPONSE_MAX, timeout_ms, &data, &size))
		return NULL;
	response = profd__control__response__unpack(NULL, size, data);
	assert_non_null(response);
	return response;
}

static inline void expect_text(int fd, const char *text)
{
	Profd__Control__Response *response = receive(fd, 1000);

	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_TEXT);
	assert_string_equal(response->text, text);
	profd__control__response__free_unpacked(response, NULL);
}

static inline void expect_error(int fd, int code, const char *part)
{
	Profd__Control__Response *response = receive(fd, 1000);

	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_ERROR);
	assert_says(response->error->message, part);
	assert_int_equal(response->error->code, code);
	profd__control__response__free_unpacked(response, NULL);
}

static inline bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

/* It is served, and goes on to be. */
static inline void expect_answer(struct world *w, int fd)
{
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_text(fd, "2611211200");
}

/* A daemon that goes on answers the next one. */
static inline void expect_serving(struct world *w)
{
	cleanup(closep) int fd = client(w);

	expect_answer(w, fd);
}

#define IMPATIENT(name) cmocka_unit_test_setup_teardown(name, setup_impatient, teardown)
#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
