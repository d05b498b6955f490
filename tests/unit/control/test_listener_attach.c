/* SPDX-License-Identifier: MIT */
/* A process asks for a ring over the control socket, as libprofd does: common/shim/attach.h. */
#include "tests/unit/control/attach_fixture.h"

static int child_asks(struct world *w)
{
	return attach_and_judge(w->path, "too many");
}

static void test_a_ring(void **state)
{
	struct world *w = *state;
	char byte;
	pid_t pid;

	assert_int_equal(run_child(w, child_asks, &pid), CHILD_GOT_RING);
	assert_true(w->ring_sent);
	assert_int_equal(w->attached, pid);
	assert_int_equal(w->attached_uid, getuid());
	assert_int_equal(w->n_calls, 1);
	/* Its end shows on the bell: nobody else holds the other one. */
	assert_int_equal(recv(w->ring.bell, &byte, 1, MSG_DONTWAIT), 0);
	assert_int_equal(stats_of(w).failed, 0);
	expect_serving(w);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	pid_t pid;

	w->fail = true;
	assert_int_equal(run_child(w, child_asks, &pid), CHILD_REFUSED);
	w->fail = false;
	expect_serving(w);
}

/* The connection has no use after the answer, and ends. */
static void test_ends_after(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);
	uint8_t answer[64];

	assert_int_equal(send(fd, attach_request, ATTACH_REQUEST_SIZE, 0), ATTACH_REQUEST_SIZE);
	send_verb(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH); /* unheard */
	run(w, 5);
	assert_int_equal(recv(fd, answer, sizeof(answer), MSG_DONTWAIT), ATTACH_ANSWER_SIZE);
	assert_memory_equal(answer, attach_answer, ATTACH_ANSWER_SIZE);
	assert_true(is_closed(fd));
	assert_int_equal(w->n_calls, 1);
	expect_serving(w);
}

static void test_gone_before(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 100; i++) {
		int fd = client(w);

		assert_int_equal(send(fd, attach_request, ATTACH_REQUEST_SIZE, 0),
				 ATTACH_REQUEST_SIZE);
		close(fd);
		run(w, 1);
	}
	assert_int_equal(w->n_calls, 100);
	assert_false(w->ring_sent);
	assert_int_equal(stats_of(w).failed, 100);
	expect_serving(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_ring),
		TEST(test_refused),
		TEST(test_ends_after),
		TEST(test_gone_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
