/* SPDX-License-Identifier: MIT */
/*
 * The listener in a real event loop on a real socket, with operations of the test's own. Clients
 * are plain fds, or, for what depends on who asks, child processes of another uid.
 */
#include "daemon/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/packet.h"
#include "common/unixsock.h"
#include "control.pb-c.h"
#include "daemon/output/listing.h"

#define STALL_NS UINT64_C(400000000) /* of the tests that wait for it */
#define STALL_MS 600                 /* by then it is over */
#define NOBODY   65534

struct world {
	char folder[32], path[48];
	sd_event *loop;
	struct listener *listener;
	struct reply *pending; /* of flush and stop */
	struct session_request started;
	bool started_pidfd;
	unsigned n_calls, n_sessions;
	size_t config_size;
	uint64_t stall_ns; /* 0: the default, longer than any test */
	bool fail, silent;
};

static int op_start(void *ud, const struct peer *peer, const struct session_request *request,
		    struct reply *reply)
{
	struct world *w = ud;

	(void)peer;
	w->n_calls++;
	w->started = *request;
	w->started_pidfd = request->pidfd >= 0 && fcntl(request->pidfd, F_GETFD) >= 0;
	reply_text(reply, "s1");
	return CONTROL_DONE;
}

static int op_stop(void *ud, const struct peer *peer, uint64_t id, struct reply *reply)
{
	struct world *w = ud;

	(void)peer;
	w->n_calls++;
	if (id == 99) {
		reply_error(reply, CONTROL_ERROR_FAILED, "no\nsession s%" PRIu64, id);
		return CONTROL_DONE;
	}
	w->pending = reply;
	return CONTROL_PENDING;
}

static int op_stop_pid(void *ud, const struct peer *peer, pid_t pid, struct reply *reply)
{
	(void)ud;
	(void)peer;
	reply_error(reply, CONTROL_ERROR_FAILED, "pid %d", pid);
	return CONTROL_DONE;
}

static int op_stop_all(void *ud, const struct peer *peer, struct reply *reply)
{
	char *paths[] = {(char[]){"/a"}, (char[]){"/b c"}, NULL};

	(void)ud;
	(void)peer;
	reply_paths(reply, paths);
	return CONTROL_DONE;
}

static int op_pause(void *ud, bool pause, struct reply *reply)
{
	((struct world *)ud)->n_calls += pause ? 1 : 100;
	reply_ok(reply);
	return CONTROL_DONE;
}

static int op_status(void *ud, const struct peer *peer, struct reply *reply)
{
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;

	(void)ud;
	status.version = (char[]){"test"};
	status.pid = (int32_t)peer->uid;
	reply_status(reply, &status);
	return CONTROL_DONE;
}

static int op_flush(void *ud, const struct peer *peer, uint64_t id, struct reply *reply)
{
	return op_stop(ud, peer, id, reply);
}

static int op_epoch(void *ud, struct reply *reply)
{
	struct world *w = ud;

	if (w->fail)
		return -EIO;
	if (!w->silent)
		reply_text(reply, "2611211200");
	return CONTROL_DONE;
}

static int op_config(void *ud, struct reply *reply)
{
	struct world *w = ud;
	cleanup(freep) char *text = malloc(w->config_size + 1);

	assert_non_null(text);
	memset(text, 'x', w->config_size);
	text[w->config_size] = '\0';
	reply_text(reply, text);
	return CONTROL_DONE;
}

static int op_list(void *ud, const char *service, uint64_t since_ns, uint64_t until_ns,
		   struct reply *reply)
{
	struct listing_row rows[] = {
		{.service = (char[]){"a"}, .start_ns = since_ns, .end_ns = until_ns},
		{.service = (char *)service, .format = "pprof", .samples = 7},
	};
	struct listing listing = {.rows = rows, .n_rows = 2};

	(void)ud;
	reply_listing(reply, &listing);
	return CONTROL_DONE;
}

static unsigned op_n_sessions_of(void *ud, uid_t uid)
{
	(void)uid;
	return ((struct world *)ud)->n_sessions;
}

static const struct control_ops ops = {
	.start = op_start,
	.stop = op_stop,
	.stop_pid = op_stop_pid,
	.stop_all = op_stop_all,
	.pause = op_pause,
	.status = op_status,
	.flush = op_flush,
	.epoch = op_epoch,
	.config = op_config,
	.list = op_list,
	.n_sessions_of = op_n_sessions_of,
};

static struct listener_options options_of(struct world *w)
{
	return (struct listener_options){
		.path = w->path,
		.mode = 0666,
		.fd = -1,
		.group = "no-such-group",
		.ops = &ops,
		.userdata = w,
		.stall_ns = w->stall_ns,
	};
}

static int setup_with(void **state, uint64_t stall_ns)
{
	struct world *w = calloc(1, sizeof(*w));
	struct listener_options options;

	assert_non_null(w);
	strcpy(w->folder, "/tmp/test-listener-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	assert_int_equal(chmod(w->folder, 0755), 0);
	snprintf(w->path, sizeof(w->path), "%s/socket", w->folder);
	w->config_size = 10;
	w->stall_ns = stall_ns;
	assert_true(sd_event_new(&w->loop) >= 0);
	options = options_of(w);
	assert_int_equal(listener_new(&w->listener, w->loop, &options), 0);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 0);
}

static int setup_impatient(void **state)
{
	return setup_with(state, STALL_NS);
}

static int teardown(void **state)
{
	struct world *w = *state;

	listener_free(w->listener);
	sd_event_unref(w->loop);
	assert_int_equal(access(w->path, F_OK), -1);
	assert_int_equal(rmdir(w->folder), 0);
	free(w);
	return 0;
}

static void run(struct world *w, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++)
		while (sd_event_run(w->loop, 1000) > 0)
			;
}

static struct listener_stats stats_of(struct world *w)
{
	struct listener_stats stats;

	listener_get_stats(w->listener, &stats);
	return stats;
}

static int client(struct world *w)
{
	int fd;

	assert_int_equal(unixsock_connect(w->path, &fd), UNIXSOCK_E_OK);
	return fd;
}

static void send_request(int fd, const Profd__Control__Request *request)
{
	uint8_t data[1024];
	size_t size = profd__control__request__get_packed_size(request);

	assert_true(size <= sizeof(data));
	profd__control__request__pack(request, data);
	assert_int_equal(unixsock_send(fd, data, size, 1000), UNIXSOCK_E_OK);
}

static void send_verb(int fd, Profd__Control__Request__VerbCase verb)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;

	request.verb_case = verb;
	request.status = &empty;
	send_request(fd, &request);
}

static void send_stop(int fd, uint64_t id)
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

static void send_start(int fd, Profd__Control__TargetKind target, int64_t number, uint64_t rate)
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

static Profd__Control__Response *receive(int fd, int timeout_ms)
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

static void expect_text(int fd, const char *text)
{
	Profd__Control__Response *response = receive(fd, 1000);

	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_TEXT);
	assert_string_equal(response->text, text);
	profd__control__response__free_unpacked(response, NULL);
}

static void expect_error(int fd, int code, const char *part)
{
	Profd__Control__Response *response = receive(fd, 1000);

	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_ERROR);
	if (!strstr(response->error->message, part))
		fail_msg("error is '%s'", response->error->message);
	assert_null(strchr(response->error->message, '\n'));
	assert_int_equal(response->error->code, code);
	profd__control__response__free_unpacked(response, NULL);
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

/* A daemon that goes on answers the next one. */
static void expect_serving(struct world *w)
{
	cleanup(closep) int fd = client(w);

	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_text(fd, "2611211200");
}

static void test_every_verb(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	Profd__Control__Response *response;

	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, getpid(), 4000);
	run(w, 5);
	expect_text(fd, "s1");
	assert_int_equal(w->started.target, TARGET_PID);
	assert_int_equal(w->started.number, getpid());
	assert_int_equal(w->started.rate, 4000);
	assert_int_equal(w->started.owner, getuid());
	assert_true(w->started_pidfd);
	assert_int_equal(fcntl(w->started.pidfd, F_GETFD), -1);
	send_stop(fd, 0);
	run(w, 5);
	response = receive(fd, 1000);
	assert_non_null(response);
	assert_int_equal(response->paths->n_paths, 2);
	assert_string_equal(response->paths->paths[1], "/b c");
	profd__control__response__free_unpacked(response, NULL);
	send_stop(fd, 99);
	run(w, 5);
	expect_error(fd, 1, "no session s99");
	w->n_calls = 0;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_PAUSE);
	run(w, 5);
	response = receive(fd, 1000);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_OK);
	profd__control__response__free_unpacked(response, NULL);
	assert_int_equal(w->n_calls, 1);
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_STATUS);
	run(w, 5);
	response = receive(fd, 1000);
	assert_int_equal(response->status->pid, getuid());
	profd__control__response__free_unpacked(response, NULL);
	assert_int_equal(stats_of(w).accepted, 1);
}

static void test_listing(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	Profd__Control__Response *response;

	list.service = (char[]){"cron.service"};
	list.since_ns = 5;
	list.until_ns = 6;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_LIST;
	request.list = &list;
	send_request(fd, &request);
	run(w, 5);
	response = receive(fd, 1000);
	assert_non_null(response);
	assert_int_equal(response->listing->n_rows, 2);
	assert_int_equal(response->listing->rows[0]->start_ns, 5);
	assert_string_equal(response->listing->rows[0]->format, "");
	assert_string_equal(response->listing->rows[1]->service, "cron.service");
	assert_int_equal(response->listing->rows[1]->samples, 7);
	profd__control__response__free_unpacked(response, NULL);
}

/* What an operation forgets or fails to answer is answered for it. */
static void test_operation_fails(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	w->fail = true;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_error(fd, 1, "Input/output error");
	w->fail = false;
	w->silent = true;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_error(fd, 1, "no answer");
	w->silent = false;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_text(fd, "2611211200");
}

static void test_garbage(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\xff\xff\xff\xff", 4},                 /* 4 GiB */
		{"GET / HTTP/1.1\r\n\r\n", 18},          /* another protocol */
		{"\x00\x01\x00\x01", 4},                 /* 64 KiB and one byte */
		{"\x00\x00\x00\x04\xff\xff\xff\xff", 8}, /* a frame of rubbish */
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(closep) int fd = client(w);

		assert_int_equal(send(fd, cases[i].bytes, cases[i].size, MSG_NOSIGNAL),
				 cases[i].size);
		run(w, 5);
		expect_error(fd, 2, "no request");
		assert_true(is_closed(fd));
		assert_int_equal(stats_of(w).garbage, i + 1);
	}
	expect_serving(w);
}

/* A frame that is a message, but asks for nothing: an answer, and the connection stays. */
static void test_empty_request(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	assert_int_equal(send(fd, "\0\0\0\0", 4, MSG_NOSIGNAL), 4);
	run(w, 5);
	expect_error(fd, 2, "does not know that request");
	assert_false(is_closed(fd));
	expect_serving(w);
}

/* One byte at a time, and several requests at once: the answers come in order. */
static void test_pieces_and_batches(void **state)
{
	static const uint8_t epoch[] = {0, 0, 0, 2, 0x3a, 0};
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	for (size_t i = 0; i < sizeof(epoch); i++) {
		assert_int_equal(send(fd, epoch + i, 1, MSG_NOSIGNAL), 1);
		run(w, 1);
	}
	expect_text(fd, "2611211200");
	for (int i = 0; i < 20; i++)
		send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 20);
	for (int i = 0; i < 20; i++)
		expect_text(fd, "2611211200");
}

static void test_never_reading_client(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	w->config_size = 4 << 20;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 20);
	assert_int_equal(stats_of(w).stalled, 0);
	w->config_size = 10;
	expect_serving(w);
	run(w, STALL_MS);
	assert_int_equal(stats_of(w).stalled, 1);
	expect_serving(w);
}

/* All answers that wait are bounded together; what does not fit becomes an error. */
static void test_output_is_bounded(void **state)
{
	struct world *w = *state;
	cleanup(closep) int first = client(w), second = client(w);

	w->config_size = 10 << 20;
	send_verb(first, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 10);
	send_verb(second, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 10);
	expect_error(second, 1, "try again");
	w->config_size = 17 << 20;
	send_verb(second, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 10);
	expect_error(second, 1, "too long");
}

/* A slow reader of a large answer is served as long as it reads on. */
static void test_slow_reader(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	cleanup(freep) char *buffer = malloc(1 << 20);
	size_t got = 0;

	assert_non_null(buffer);
	w->config_size = 4 << 20;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	for (int i = 0; i < 1000 && got < (4 << 20); i++) {
		ssize_t n = recv(fd, buffer, 1 << 18, MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		run(w, 20);
	}
	assert_true(got >= (4 << 20));
	assert_int_equal(stats_of(w).stalled, 0);
}

static void test_silent_and_half_sent(void **state)
{
	struct world *w = *state;
	cleanup(closep) int silent = client(w), half = client(w);

	assert_int_equal(send(half, "\0\0\0\7abc", 7, MSG_NOSIGNAL), 7);
	run(w, 50);
	assert_int_equal(stats_of(w).stalled, 0);
	run(w, STALL_MS);
	assert_int_equal(stats_of(w).stalled, 2);
	assert_true(is_closed(silent));
	assert_true(is_closed(half));
	expect_serving(w);
}

static void test_pending_and_late_answer(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	char *paths[] = {(char[]){"/x"}, NULL};
	Profd__Control__Response *response;

	send_stop(fd, 1);
	run(w, 5);
	assert_non_null(w->pending);
	/* Work may take longer than a client may be silent. */
	run(w, STALL_MS);
	assert_int_equal(stats_of(w).stalled, 0);
	reply_paths(w->pending, paths);
	/* It is there before the loop runs again. */
	response = receive(fd, 1000);
	assert_non_null(response);
	assert_string_equal(response->paths->paths[0], "/x");
	profd__control__response__free_unpacked(response, NULL);
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_text(fd, "2611211200");
}

static void test_disconnect_while_pending(void **state)
{
	struct world *w = *state;
	int fd = client(w);

	send_stop(fd, 1);
	run(w, 5);
	assert_non_null(w->pending);
	close(fd);
	run(w, 5);
	assert_int_equal(stats_of(w).abandoned, 1);
	reply_ok(w->pending);
	run(w, 5);
	expect_serving(w);
}

static void test_free_while_pending(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	send_stop(fd, 1);
	run(w, 5);
	assert_non_null(w->pending);
	listener_free(w->listener);
	w->listener = NULL;
	assert_true(is_closed(fd));
	reply_text(w->pending, "nobody hears this");
}

static void test_too_many_clients(void **state)
{
	struct world *w = *state;
	int fds[64];
	cleanup(closep) int last = -1;

	for (int i = 0; i < 64; i++)
		fds[i] = client(w);
	run(w, 5);
	last = client(w);
	run(w, 5);
	expect_error(last, 1, "too many clients");
	assert_true(is_closed(last));
	assert_int_equal(stats_of(w).refused, 1);
	for (int i = 0; i < 64; i++)
		close(fds[i]);
	run(w, 5);
	expect_serving(w);
}

static void test_second_listener(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);
	struct listener *second;

	assert_int_equal(listener_new(&second, w->loop, &options), LISTENER_E_IN_USE);
	expect_serving(w);
	options.path = "";
	assert_int_equal(listener_new(&second, w->loop, &options), LISTENER_E_BAD_PATH);
	options.path = "/nonexistent-folder/x";
	assert_int_equal(listener_new(&second, w->loop, &options), -ENOENT);
}

/* A socket that nobody listens on is replaced; a file that is no socket never is. */
static void test_stale_socket(void **state)
{
	struct world *w = *state;
	struct listener_options options;
	struct listener *other = NULL;
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/stale", w->folder);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	options = options_of(w);
	options.path = path;
	options.mode = 0640;
	assert_int_equal(listener_new(&other, w->loop, &options), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	listener_free(other);
	assert_int_equal(access(path, F_OK), -1);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(listener_new(&other, w->loop, &options), LISTENER_E_IN_USE);
	assert_int_equal(unlink(path), 0);
}

static void test_passed_socket(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);
	struct listener *passed;
	char path[64];
	int fd, connected;

	snprintf(path, sizeof(path), "%s/passed", w->folder);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	options.fd = fd;
	assert_int_equal(listener_new(&passed, w->loop, &options), 0);
	assert_int_equal(unixsock_connect(path, &connected), UNIXSOCK_E_OK);
	send_verb(connected, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_text(connected, "2611211200");
	close(connected);
	listener_free(passed);
	/* It is the giver's: neither closed nor removed. */
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

static void become(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups)
{
	if (setgroups(n_groups, groups) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		_exit(99);
	/* Changing users makes a process unreadable to its new user, until the next exec. */
	prctl(PR_SET_DUMPABLE, 1);
}

/* Runs @child as another user beside the loop; its exit status. */
static int as_user(struct world *w, uid_t uid, gid_t group, int (*child)(struct world *, pid_t),
		   pid_t target)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		become(uid, uid, &group, 1);
		_exit(child(w, target));
	}
	for (;;) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			break;
		assert_int_equal(done, 0);
		run(w, 1);
	}
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The code of the answer to a request: -1 none, 0 no error. */
static int code_of(int fd)
{
	Profd__Control__Response *response = receive(fd, 5000);
	int code;

	if (!response)
		return -1;
	code = response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR
		       ? (int)response->error->code
		       : 0;
	profd__control__response__free_unpacked(response, NULL);
	return code;
}

#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition))                                     \
			return __LINE__ & 0x7f ? __LINE__ & 0x7f : 1; \
	} while (0)

static int child_unprivileged(struct world *w, pid_t root_pid)
{
	static const Profd__Control__Request__VerbCase denied[] = {
		PROFD__CONTROL__REQUEST__VERB_PAUSE,
		PROFD__CONTROL__REQUEST__VERB_RESUME,
		PROFD__CONTROL__REQUEST__VERB_EPOCH,
		PROFD__CONTROL__REQUEST__VERB_CONFIG,
	};
	pid_t own = fork(), dead;
	int fd;

	if (own == 0) {
		pause();
		_exit(0);
	}
	dead = fork();
	if (dead == 0)
		_exit(0);
	CHECK(waitpid(dead, NULL, 0) == dead);
	CHECK(unixsock_connect(w->path, &fd) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		send_verb(fd, denied[i]);
		CHECK(code_of(fd) == 4);
	}
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_STATUS);
	CHECK(code_of(fd) == 0);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, own, 1000);
	CHECK(code_of(fd) == 0);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__TID, own, 0);
	CHECK(code_of(fd) == 0);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, own, 1001);
	CHECK(code_of(fd) == 4);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, root_pid, 99);
	CHECK(code_of(fd) == 4);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__TID, root_pid, 99);
	CHECK(code_of(fd) == 4);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, dead, 99);
	CHECK(code_of(fd) == 1);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__ALL, 0, 99);
	CHECK(code_of(fd) == 4);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__UID, getuid(), 99);
	CHECK(code_of(fd) == 4);
	kill(own, SIGKILL);
	return 0;
}

static int child_over_quota(struct world *w, pid_t unused)
{
	int fd;

	(void)unused;
	CHECK(unixsock_connect(w->path, &fd) == 0);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, getpid(), 99);
	CHECK(code_of(fd) == 4);
	return 0;
}

static int child_many_connections(struct world *w, pid_t unused)
{
	int fd;

	(void)unused;
	for (int i = 0; i < 16; i++)
		CHECK(unixsock_connect(w->path, &fd) == 0);
	CHECK(unixsock_connect(w->path, &fd) == 0);
	CHECK(code_of(fd) == 1);
	return 0;
}

static int child_group_member(struct world *w, pid_t root_pid)
{
	int fd;

	CHECK(unixsock_connect(w->path, &fd) == 0);
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	CHECK(code_of(fd) == 0);
	send_start(fd, PROFD__CONTROL__TARGET_KIND__PID, root_pid, 4000);
	CHECK(code_of(fd) == 0);
	return 0;
}

static void test_unprivileged(void **state)
{
	struct world *w = *state;

	assert_int_equal(as_user(w, NOBODY, NOBODY, child_unprivileged, getpid()), 0);
	assert_int_equal(w->n_calls, 2);
	assert_true(w->started.no_kernel);
	assert_int_equal(w->started.owner, NOBODY);
	w->n_sessions = POLICY_SESSIONS_MAX;
	assert_int_equal(as_user(w, NOBODY, NOBODY, child_over_quota, 0), 0);
	assert_int_equal(as_user(w, NOBODY, NOBODY, child_many_connections, 0), 0);
	assert_int_equal(stats_of(w).refused, 1);
	expect_serving(w);
}

/* Supplementary groups count, and only the named group. */
static void test_group(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);

	listener_free(w->listener);
	w->listener = NULL;
	options.group = "daemon";
	assert_int_equal(listener_new(&w->listener, w->loop, &options), 0);
	assert_non_null(getgrnam("daemon"));
	assert_int_equal(
		as_user(w, NOBODY, getgrnam("daemon")->gr_gid, child_group_member, getpid()), 0);
	assert_false(w->started.no_kernel);
	assert_int_equal(as_user(w, NOBODY, NOBODY, child_unprivileged, getpid()), 0);
}

#define IMPATIENT(name) cmocka_unit_test_setup_teardown(name, setup_impatient, teardown)
#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_verb),
		TEST(test_listing),
		TEST(test_operation_fails),
		TEST(test_garbage),
		TEST(test_empty_request),
		TEST(test_pieces_and_batches),
		IMPATIENT(test_never_reading_client),
		TEST(test_output_is_bounded),
		IMPATIENT(test_slow_reader),
		IMPATIENT(test_silent_and_half_sent),
		IMPATIENT(test_pending_and_late_answer),
		TEST(test_disconnect_while_pending),
		TEST(test_free_while_pending),
		TEST(test_too_many_clients),
		TEST(test_second_listener),
		TEST(test_stale_socket),
		TEST(test_passed_socket),
	};
	const struct CMUnitTest as_root[] = {TEST(test_unprivileged), TEST(test_group)};
	int failed = cmocka_run_group_tests_name("listener", tests, NULL, NULL);

	/* To be somebody else takes root; the lane that runs as root runs these too. */
	if (geteuid() == 0)
		failed += cmocka_run_group_tests_name("listener, other users", as_root, NULL, NULL);
	else
		fprintf(stderr, "not root: the tests with other users are left to the root lane\n");
	return failed;
}
