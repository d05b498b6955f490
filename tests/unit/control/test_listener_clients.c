/* SPDX-License-Identifier: MIT */
/* Clients that send garbage, do not read, do not go on, or are too many. */
#include "tests/unit/control/listener_fixture.h"

#include <poll.h>

#include "common/clock.h"

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
		expect_error(fd, 2, "malformed request");
		assert_true(is_closed(fd));
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
	expect_error(fd, 2, "does not support this request");
	assert_false(is_closed(fd));
	expect_serving(w);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Until the connection has had @n requests served, or ends. */
static void run_until_served(struct world *w, int fd, unsigned n)
{
	struct pollfd hangup = {.fd = fd, .events = POLLRDHUP};

	while (stats_of(w).requests[true] < n && poll(&hangup, 1, 0) == 0)
		run(w, 1);
}

/* For as long as it takes: on a busy machine all may be later, but nothing is early. */
static void run_until_stalled(struct world *w, unsigned n, uint64_t since_ms)
{
	while (stats_of(w).stalled < n && now_ms() < since_ms + 60000)
		run(w, 1);
	assert_int_equal(stats_of(w).stalled, n);
	assert_true(now_ms() >= since_ms + w->stall_ns / 1000000);
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
	uint64_t since_ms = now_ms();

	w->config_size = 4 << 20;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 20);
	w->config_size = 10;
	expect_serving(w);
	run_until_stalled(w, 1, since_ms);
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

/* So are the files behind them, which clients may read as slowly as they like. */
static void test_files_are_bounded(void **state)
{
	struct world *w = *state;
	cleanup(closep) int first = client(w), second = client(w), third = -1;
	Profd__Control__Response *response;

	w->config_size = 17 << 20;
	send_verb(first, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	send_verb(second, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	expect_error(second, 1, "try again");
	w->config_size = 100;
	send_verb(second, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	response = receive(second, 1000);
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_COLLECTED);
	profd__control__response__free_unpacked(response, NULL);
	/* One that is too large by itself comes when no other is in the way. */
	third = client(w);
	w->config_size = 33 << 20;
	send_verb(third, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	expect_error(third, 1, "try again");
	close(steal_fd(&first));
	run(w, 5);
	send_verb(third, PROFD__CONTROL__REQUEST__VERB_COLLECT);
	run(w, 5);
	response = receive(third, 1000);
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_COLLECTED);
	profd__control__response__free_unpacked(response, NULL);
}

#define N_PATHS ((size_t)100000)

/* Takes the next piece of a list of paths; *at: the first of them that was not whole before. */
static size_t read_paths(int fd, char *rest, size_t n_rest, size_t *at)
{
	cleanup(freep) uint8_t *piece = NULL;
	cleanup(freep) char *text = NULL;
	char expected[128], *line, *end;
	size_t length;

	assert_int_equal(unixsock_receive(fd, 1 << 20, 1000, &piece, &length), UNIXSOCK_E_OK);
	assert_true(length > 0 && length <= 1 << 16);
	text = malloc(n_rest + length + 1);
	assert_non_null(text);
	memcpy(text, rest, n_rest);
	memcpy(text + n_rest, piece, length);
	text[n_rest + length] = '\0';
	for (line = text; (end = strchr(line, '\n')); line = end + 1, (*at)++) {
		snprintf(expected, sizeof(expected), PATH_FORMAT, *at, *at);
		if (strncmp(line, expected, strlen(expected)) != 0)
			fail_msg("path %zu: %.*s", *at, (int)(end - line), line);
	}
	strcpy(rest, line);
	return strlen(rest);
}

/*
 * A session that stops can have more files than there is room for their paths in a packet. They
 * wait in a file for a client that takes its time, and others are answered between two of its
 * reads.
 */
static void test_many_paths(void **state)
{
	struct world *w = *state;
	cleanup(closep) int slow = client(w), other = client(w);
	Profd__Control__Response *response;
	char rest[128] = "";
	size_t at = 0, n_rest = 0, n_pieces = 0;

	w->n_paths = N_PATHS;
	send_stop(slow, 1);
	run(w, 5);
	/* Nothing was read yet: all but what the socket has room for is still to come. */
	expect_answer(w, other);
	response = receive(slow, 1000);
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_PATHS);
	assert_int_equal(response->paths->n_paths, 0);
	assert_true(response->paths->bytes > N_PATHS * 60);
	profd__control__response__free_unpacked(response, NULL);
	for (; at < N_PATHS; n_pieces++) {
		if (n_pieces % 16 == 0)
			expect_answer(w, other);
		while (sd_event_run(w->loop, 0) > 0)
			;
		n_rest = read_paths(slow, rest, n_rest, &at);
	}
	assert_int_equal(at, N_PATHS);
	assert_int_equal(n_rest, 0);
	assert_true(n_pieces > 64);
	w->n_paths = 0;
	expect_answer(w, slow);
	assert_int_equal(stats_of(w).failed, 0);
}

/* Whether all of a large answer came. *ret_gap_ms: the longest time between two reads. */
static bool read_slowly(struct world *w, uint64_t *ret_gap_ms)
{
	cleanup(closep) int fd = client(w);
	cleanup(freep) char *buffer = malloc(1 << 20);
	uint64_t last_ms = now_ms(), gap_ms;
	size_t got = 0;

	assert_non_null(buffer);
	*ret_gap_ms = 0;
	w->config_size = 4 << 20;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	for (int i = 0; i < 1000 && got < (4 << 20); i++) {
		ssize_t n = recv(fd, buffer, 1 << 18, MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		run(w, 20);
		gap_ms = now_ms() - last_ms;
		last_ms += gap_ms;
		if (gap_ms > *ret_gap_ms)
			*ret_gap_ms = gap_ms;
	}
	return got >= (4 << 20);
}

/* A slow reader of a large answer is served as long as it reads on. */
static void test_slow_reader(void **state)
{
	struct world *w = *state;
	uint64_t gap_ms = 0;

	/* Where the machine kept it from reading for so long, it did not read on: six reads are a
	 * MiB. */
	for (int i = 0; i < 20; i++) {
		if (read_slowly(w, &gap_ms))
			return;
		assert_true(gap_ms >= w->stall_ns / 8000000);
	}
	fail_msg("it never got to read on: %d ms", (int)gap_ms);
}

/* One that takes a little at a time keeps others' answers waiting no longer than one that rests. */
static void test_trickling_reader(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	uint64_t since_ms = now_ms();
	char buffer[40 << 10];
	size_t got = 0;

	w->config_size = 4 << 20;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 5);
	w->config_size = 10;
	while (!stats_of(w).stalled && now_ms() < since_ms + 60000) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		run(w, 1);
	}
	assert_int_equal(stats_of(w).stalled, 1);
	assert_true(got > 1000 && got < (3 << 20));
	expect_serving(w);
}

static void test_silent_and_half_sent(void **state)
{
	struct world *w = *state;
	uint64_t since_ms = now_ms();
	cleanup(closep) int silent = client(w), half = client(w);

	assert_int_equal(send(half, "\0\0\0\7abc", 7, MSG_NOSIGNAL), 7);
	run_until_stalled(w, 2, since_ms);
	assert_true(is_closed(silent));
	assert_true(is_closed(half));
	expect_serving(w);
}

static void test_too_many_clients(void **state)
{
	struct world *w = *state;
	int fds[64];
	cleanup(closep) int last = -1;

	for (int i = 0; i < 64; i++)
		fds[i] = client(w);
	last = client(w);
	run(w, 100); /* they are accepted at a bounded rate */
	expect_error(last, 1, "too many clients");
	assert_true(is_closed(last));
	for (int i = 0; i < 64; i++)
		close(fds[i]);
	run(w, 100);
	expect_serving(w);
	assert_int_equal(stats_of(w).refused[true], 1);
}

/* Empties the bucket, so that @wait_ms pass before a request is read again. */
static void draw_all(struct world *w, unsigned wait_ms)
{
	w->buckets[true].share = 1;
	buckets_draw(&w->buckets[true], geteuid(), BUCKETS_BURST_NS / 1000 + wait_ms * 1000,
		     clock_ns(CLOCK_MONOTONIC));
}

/* With an empty bucket a client is not read from, until there is something in it again. */
static void test_waits_for_its_bucket(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w), gone = client(w), other = -1;
	uint64_t since_ms = now_ms();

	expect_answer(w, fd);
	assert_int_equal(stats_of(w).requests[true], 1);
	draw_all(w, 1000);
	for (int i = 0; i < 3; i++)
		send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	send_verb(gone, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 1);
	close(steal_fd(&gone)); /* which nobody waits for */
	run_until_served(w, fd, 4);
	assert_true(now_ms() >= since_ms + 1000);
	for (int i = 0; i < 3; i++)
		expect_text(fd, "2611211200");
	run(w, 5);
	assert_int_equal(stats_of(w).requests[true], 4);
	assert_in_range(stats_of(w).delayed[true], 1, 3);
	/* The other bucket is another matter. */
	if (geteuid() != 0)
		return;
	draw_all(w, 1000000);
	assert_int_equal(seteuid(NOBODY), 0);
	other = client(w);
	assert_int_equal(seteuid(0), 0);
	send_verb(other, PROFD__CONTROL__REQUEST__VERB_STATUS);
	run(w, 5);
	assert_int_equal(stats_of(w).requests[false], 1);
}

/* Bytes one by one cost more than a request. */
static void test_pieces_cost(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	uint64_t before_ns;

	run(w, 1);
	before_ns = w->buckets[true].uids[BUCKETS_UIDS - 1].full_ns;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(send(fd, "", 1, MSG_NOSIGNAL), 1);
		run(w, 1);
	}
	assert_true(w->buckets[true].uids[BUCKETS_UIDS - 1].full_ns > before_ns);
}

/* What cannot be served yet is asked for again, without a word to the client. */
static void test_busy(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	uint64_t since_ms = now_ms();

	w->n_busy = 3;
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run_until_served(w, fd, 1);
	expect_text(fd, "2611211200");
	assert_int_equal(w->n_busy, 0);
	assert_int_equal(stats_of(w).delayed[true], 1);
	assert_true(now_ms() >= since_ms + 300);
	expect_answer(w, fd);
	assert_int_equal(stats_of(w).delayed[true], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_garbage),
		TEST(test_empty_request),
		TEST(test_pieces_and_batches),
		IMPATIENT(test_never_reading_client),
		TEST(test_output_is_bounded),
		TEST(test_files_are_bounded),
		TEST(test_many_paths),
		IMPATIENT(test_slow_reader),
		IMPATIENT(test_trickling_reader),
		IMPATIENT(test_silent_and_half_sent),
		TEST(test_too_many_clients),
		TEST(test_waits_for_its_bucket),
		TEST(test_pieces_cost),
		TEST(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
