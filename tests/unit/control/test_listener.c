/* SPDX-License-Identifier: MIT */
/* What the daemon answers: every verb, at once or later, and who answers for it. */
#include "tests/unit/control/listener_fixture.h"

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
	assert_int_equal(w->started_uid, getuid());
	assert_true(w->started_pidfd);
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
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_OK);
	profd__control__response__free_unpacked(response, NULL);
	assert_int_equal(w->n_calls, 1);
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_STATUS);
	run(w, 5);
	response = receive(fd, 1000);
	assert_non_null(response);
	assert_int_equal(response->status->pid, getuid());
	profd__control__response__free_unpacked(response, NULL);
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

static void test_wanted(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	Profd__Control__Response *response;

	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_WANTED);
	run(w, 5);
	response = receive(fd, 1000);
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS);
	assert_int_equal(response->build_ids->n_build_ids, 2);
	assert_int_equal(response->build_ids->build_ids[0].len, 20);
	assert_memory_equal(response->build_ids->build_ids[0].data, "\xab\x00\xcd", 3);
	assert_int_equal(response->build_ids->build_ids[1].len, 2);
	profd__control__response__free_unpacked(response, NULL);
}

/* A file comes in pieces behind its answer, as fast as it is read; then the next answer. */
static void test_files(void **state)
{
	static const size_t sizes[] = {0, 1, 65536, 65537, 3000000};
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		Profd__Control__Response *response;
		size_t at = 0;

		w->config_size = sizes[s];
		send_verb(fd, PROFD__CONTROL__REQUEST__VERB_COLLECT);
		send_stop(fd, 99);
		run(w, 5);
		response = receive(fd, 1000);
		assert_non_null(response);
		assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_COLLECTED);
		assert_int_equal(response->collected->bytes, sizes[s]);
		assert_int_equal(response->collected->samples, 7);
		profd__control__response__free_unpacked(response, NULL);
		while (at < sizes[s]) {
			cleanup(freep) uint8_t *piece = NULL;
			size_t length;

			run(w, 2);
			assert_int_equal(unixsock_receive(fd, 1 << 20, 1000, &piece, &length), 0);
			assert_true(length > 0 && length <= sizes[s] - at);
			for (size_t i = 0; i < length; i++, at++)
				if (piece[i] != (at * at & 0xff))
					fail_msg("byte %zu of %zu", at, sizes[s]);
		}
		run(w, 5);
		expect_error(fd, 1, "no session s99");
	}
	/* Whoever goes in the middle takes nothing along. */
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	close(steal_fd(&fd));
	run(w, 5);
	assert_int_equal(stats_of(w).failed, 0);
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
	expect_error(fd, 1, "unanswered request");
	w->silent = false;
	expect_answer(w, fd);
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
	expect_answer(w, fd);
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

static int verb_seen(const struct control_call *call)
{
	const Profd__Control__Hold *hold = call->message;
	char text[24];

	snprintf(text, sizeof(text), "held %" PRIu64, hold->id);
	reply_text(call->reply, text);
	return CONTROL_DONE;
}

/* A verb is its field in common/control.proto, one row, and its handler. */
static void test_another_row(void **state)
{
	static const struct control_verb verbs[] = {
		{"hold", MESSAGE(hold), CONTROL_FOR_ALL, 0, verb_seen},
		{"flush", MESSAGE(hold), CONTROL_FOR_ALL, 0, verb_seen}, /* not its message */
		{0},
	};
	struct world *w = *state;
	struct listener_options options = options_of(w);
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Hold hold = PROFD__CONTROL__HOLD__INIT;
	cleanup(closep) int before = client(w), fd = -1;

	hold.id = 7;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_HOLD;
	request.hold = &hold;
	send_request(before, &request);
	run(w, 5);
	expect_error(before, 2, "does not support this request");
	listener_free(w->listener);
	options.verbs = verbs;
	assert_int_equal(listener_new(&w->listener, w->loop, &options), 0);
	fd = client(w);
	send_request(fd, &request);
	run(w, 5);
	expect_text(fd, "held 7");
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_FLUSH);
	run(w, 5);
	expect_error(fd, 2, "does not support this request");
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB__NOT_SET);
	run(w, 5);
	expect_error(fd, 2, "does not support this request");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_verb),
		TEST(test_listing),
		TEST(test_wanted),
		TEST(test_files),
		TEST(test_operation_fails),
		IMPATIENT(test_pending_and_late_answer),
		TEST(test_disconnect_while_pending),
		TEST(test_free_while_pending),
		TEST(test_another_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
