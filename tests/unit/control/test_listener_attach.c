/* SPDX-License-Identifier: MIT */
/* A process asks for a ring over the control socket, as libprofd does: common/shim/attach.h. */
#include "tests/unit/control/listener_fixture.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/shim/ring_writer.h"

enum { CHILD_GOT_RING = 40, CHILD_REFUSED, CHILD_OTHER };

/* What a child does, and ends with. */
static int ask(const char *path, const char *reason)
{
	struct attach_reason said = {""};
	struct ring_writer writer;
	int memory, bell, r;

	r = attach_ask(path, 5000, &memory, &bell, &said);
	if (r == ATTACH_E_REFUSED)
		return reason && strstr(said.text, reason) ? CHILD_REFUSED : CHILD_OTHER;
	if (r || !ring_writer_open(&writer, memory, bell))
		return CHILD_OTHER;
	return atomic_load(&writer.page->frequency) == 0 ? CHILD_GOT_RING : CHILD_OTHER;
}

static int run_child(struct world *w, int (*child)(struct world *w), pid_t *ret_pid)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		_exit(child(w));
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		run(w, 1);
	assert_true(WIFEXITED(status));
	*ret_pid = pid;
	return WEXITSTATUS(status);
}

static int child_asks(struct world *w)
{
	return ask(w->path, "too many");
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
	assert_int_equal(stats_of(w).garbage + stats_of(w).failed, 0);
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

static int child_of_another(struct world *w, bool is_dumpable)
{
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return CHILD_OTHER;
	prctl(PR_SET_DUMPABLE, is_dumpable);
	return ask(w->path, "does not run as you alone");
}

static int child_dumpable(struct world *w)
{
	return child_of_another(w, true);
}

static int child_undumpable(struct world *w)
{
	return child_of_another(w, false);
}

/* Others get rings for what is theirs alone: what a set-id program does is not its user's. */
static void test_others(void **state)
{
	struct world *w = *state;
	pid_t pid;

	if (geteuid() != 0)
		fail_msg("only root can become somebody else: run the tests as root");
	assert_int_equal(run_child(w, child_dumpable, &pid), CHILD_GOT_RING);
	assert_int_equal(w->attached_uid, NOBODY);
	assert_int_equal(run_child(w, child_undumpable, &pid), CHILD_REFUSED);
	assert_int_equal(w->n_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_ring),      TEST(test_refused), TEST(test_ends_after),
		TEST(test_gone_before), TEST(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
