/* SPDX-License-Identifier: MIT */
/* The client against workers that lie, hang and die. */
#include "tests/unit/worker/worker_fixture.h"

#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/worker/answer.h"

static int query_image(struct worker *w, struct worker_reply *ret)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, 0);

	return worker_query(w, &request, ret);
}

static const char *why(struct worker *w)
{
	static struct worker_stats stats;

	worker_get_stats(w, &stats);
	return stats.why;
}

/* Each of these says one wrong thing, or nothing: no answer, and the request is to blame. */
static void test_lies(void **state)
{
	static const char *const modes[] = {
		"wrong-magic",  "wrong-id",    "wrong-outcome", "failed-with-payload",
		"short-header", "empty",       "shorter",       "huge",
		"endless",      "with-a-file", "sealed-empty",  "with-eight-files",
		"hangs-up",     "floods",      "dies-reading",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct worker *w = new_hostile(modes[i], 10000);
		struct worker_reply reply = {.outcome = N_WORKER_OUTCOMES};
		struct worker_stats stats;

		print_message("%s\n", modes[i]);
		assert_int_equal(query_image(w, &reply), WORKER_E_DIED);
		assert_int_equal(reply.outcome, N_WORKER_OUTCOMES);
		assert_int_equal(worker_pid(w), 0);
		assert_no_children();
		worker_get_stats(w, &stats);
		assert_int_equal(stats.started, 1);
		assert_int_equal(stats.died, 1);
		assert_int_equal(stats.answered, 0);
		assert_true(stats.why[0]);
		/* It did not answer, so the next one has to wait. */
		assert_int_equal(query_image(w, &reply), WORKER_E_REST);
		assert_true(worker_backoff_until(w) > monotonic_ns());
		worker_free(w);
	}
}

static void test_honest(void **state)
{
	struct worker *w = new_hostile("honest", 10000);
	struct worker_stats stats;
	struct worker_reply reply;
	int pid;

	(void)state;
	assert_int_equal(worker_pid(w), 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(query_image(w, &reply), WORKER_E_OK);
		assert_int_equal(reply.outcome, WORKER_DONE);
		assert_int_equal(reply.length, 64);
		assert_int_equal((uintptr_t)reply.data % 8, 0);
		for (size_t k = 0; k < reply.length; k++)
			assert_int_equal(reply.data[k], 0);
	}
	pid = worker_pid(w);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), 0);
	worker_get_stats(w, &stats);
	assert_int_equal(stats.started, 1);
	assert_int_equal(stats.died, 0);
	assert_int_equal(stats.answered, 100);
	worker_free(w);
}

static void test_too_slow(void **state)
{
	struct worker *w = new_hostile("never-answers", 50);
	struct worker_reply reply;

	(void)state;
	assert_int_equal(query_image(w, &reply), WORKER_E_DIED);
	assert_string_equal(why(w), "too slow");
	worker_free(w);
}

static pid_t spin_on(const cpu_set_t *cpu)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	if (sched_setaffinity(0, sizeof(*cpu), cpu) == 0)
		for (;;)
			;
	_exit(1);
}

/* 300 ms of CPU time, in the company of others on the same CPU: that is not its fault. */
static void test_starved(void **state)
{
	struct worker *w = new_hostile("thinks", 600);
	struct worker_reply reply;
	cpu_set_t before, one;
	pid_t others[8];
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = spin_on(&one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	worker_free(w);
}

/* Its end is seen though another process holds the socket. */
static void test_leaves_heir(void **state)
{
	struct worker *w = new_hostile("leaves-heir", 30000);
	struct worker_reply reply;

	(void)state;
	assert_int_equal(query_image(w, &reply), WORKER_E_DIED);
	assert_string_equal(why(w), "exited with status 0");
	worker_free(w);
}

/* Nobody's fault: what never came up was never given anything to die of. */
static void test_never_up(void **state)
{
	static const struct {
		const char *mode, *why;
	} modes[] = {
		{"dies-at-once", "exited with status 7"},
		{"never-comes-up", "too slow"},
		{"babbles", "protocol error: an answer before it was up"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct worker *w = new_hostile(modes[i].mode, 200);
		struct worker_reply reply;

		assert_int_equal(query_image(w, &reply), WORKER_E_REST);
		assert_string_equal(why(w), modes[i].why);
		assert_true(worker_backoff_until(w) > monotonic_ns());
		worker_free(w);
	}
}

static void stop_process(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
}

/* Nobody's fault either: a worker that is stopped takes no request. */
static void test_never_read(void **state)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, 0);
	struct worker *w = new_hostile("honest", 1000);
	struct pollfd ready = {.fd = worker_fd(w), .events = POLLIN};
	struct worker_reply reply;

	(void)state;
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	stop_process(worker_pid(w));
	assert_int_equal(worker_send(w, &request), WORKER_E_OK);
	assert_int_equal(kill(worker_pid(w), SIGKILL), 0);
	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_int_equal(worker_receive(w, &reply), WORKER_E_REST);
	assert_string_equal(why(w), "killed by signal 9");
	sleep_until(worker_backoff_until(w));
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	stop_process(worker_pid(w));
	assert_int_equal(query_image(w, &reply), WORKER_E_REST);
	assert_string_equal(why(w), "too slow");
	sleep_until(worker_backoff_until(w));
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	worker_free(w);
}

static void test_no_program(void **state)
{
	const struct worker_options options = {.path = "/nonexistent", .name = "test"};
	struct worker_stats stats;
	struct worker_reply reply;
	struct worker *w = NULL;

	(void)state;
	assert_int_equal(worker_new(&w, &options), 0);
	assert_int_equal(query_image(w, &reply), WORKER_E_REST);
	worker_get_stats(w, &stats);
	assert_int_equal(stats.started, 0);
	assert_non_null(strstr(stats.why, "cannot be started"));
	worker_free(w);
}

/* 100 ms, 200 ms, 400 ms: what it said last is at least what is waited for. */
static void test_rest_grows(void **state)
{
	struct worker *w = new_hostile("dies-reading", 10000);
	uint64_t least_ns = 100000000;
	struct worker_reply reply;
	struct worker_stats stats;

	(void)state;
	for (unsigned i = 0; i < 3; i++, least_ns *= 2) {
		uint64_t before = monotonic_ns(), until;

		assert_int_equal(query_image(w, &reply), WORKER_E_DIED);
		until = worker_backoff_until(w);
		assert_true(until >= before + least_ns);
		assert_true(until <= monotonic_ns() + least_ns);
		sleep_until(until);
	}
	worker_get_stats(w, &stats);
	assert_int_equal(stats.started, 3);
	assert_int_equal(stats.died, 3);
	assert_int_equal(worker_pid(w), 0);
	assert_true(stats.used_ns > 0); /* which is the dead ones' */
	worker_free(w);
}

/* One that has answered is replaced at once, and nobody rests. */
static void test_dies_after_answer(void **state)
{
	struct worker *w = new_hostile("honest", 10000);
	struct worker_stats stats;
	struct worker_reply reply;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct pollfd ready = {.fd = worker_fd(w), .events = POLLIN};

		assert_int_equal(query_image(w, &reply), WORKER_E_OK);
		assert_int_equal(kill(worker_pid(w), SIGKILL), 0);
		/* Idle: half of the times the client is told, half of them it finds out. */
		assert_int_equal(poll(&ready, 1, 10000), 1);
		if (i & 1) {
			assert_int_equal(worker_receive(w, &reply), WORKER_E_NONE);
			assert_int_equal(worker_pid(w), 0);
			assert_int_equal(poll(&ready, 1, 0), 0);
		}
	}
	worker_get_stats(w, &stats);
	assert_int_equal(stats.started, 5);
	assert_int_equal(stats.answered, 5);
	assert_string_equal(stats.why, "killed by signal 9");
	worker_free(w);
}

/* It says itself that it has done enough. */
static void test_last(void **state)
{
	struct worker *w = new_hostile("last", 10000);
	struct worker_stats stats;
	struct worker_reply reply;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(query_image(w, &reply), WORKER_E_OK);
		assert_int_equal(reply.length, 64);
		assert_int_equal(worker_pid(w), 0);
		assert_no_children();
	}
	worker_get_stats(w, &stats);
	assert_int_equal(stats.started, 3);
	assert_int_equal(stats.died, 0);
	worker_free(w);
}

/* An answer that its caller cannot use is none: the worker is killed, and rests. */
static void test_condemn(void **state)
{
	struct worker *w = new_hostile("honest", 10000);
	struct worker_stats stats;
	struct worker_reply reply;

	(void)state;
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	worker_reject_answer(w);
	assert_int_equal(worker_pid(w), 0);
	assert_no_children();
	worker_get_stats(w, &stats);
	assert_int_equal(stats.died, 1);
	assert_int_equal(stats.answered, 0);
	assert_int_equal(query_image(w, &reply), WORKER_E_REST);
	worker_free(w);
}

/* The second answer comes to nothing that was asked: the first one counts. */
static void test_twice(void **state)
{
	struct worker *w = new_hostile("twice", 10000);
	struct pollfd ready = {.fd = worker_fd(w), .events = POLLIN};
	struct worker_reply reply;

	(void)state;
	assert_int_equal(query_image(w, &reply), WORKER_E_OK);
	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_int_equal(worker_receive(w, &reply), WORKER_E_NONE);
	assert_int_equal(worker_pid(w), 0);
	assert_string_equal(why(w), "protocol error: an answer to no request");
	worker_free(w);
}

static void test_busy(void **state)
{
	struct worker *w = new_hostile("honest", 10000);
	struct worker_request request = worker_request_of(WORKER_INSPECT, 0);
	struct pollfd ready = {.fd = worker_fd(w), .events = POLLIN};
	struct worker_reply reply;
	int r;

	(void)state;
	assert_int_equal(worker_receive(w, &reply), WORKER_E_NONE);
	assert_int_equal(worker_send(w, &request), WORKER_E_OK);
	assert_int_equal(worker_send(w, &request), WORKER_E_BUSY);
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_BUSY);
	do {
		assert_int_equal(poll(&ready, 1, 10000), 1);
		r = worker_receive(w, &reply);
	} while (r == WORKER_E_NONE);
	assert_int_equal(r, WORKER_E_OK);
	assert_int_equal(poll(&ready, 1, 0), 0);
	assert_int_equal(worker_receive(w, &reply), WORKER_E_NONE);
	request.payload_length = WORKER_REQUEST_MAX;
	assert_int_equal(worker_send(w, &request), -E2BIG);
	/* Freed while it owes. */
	request.payload_length = 0;
	assert_int_equal(worker_send(w, &request), WORKER_E_OK);
	worker_free(w);
}

static void drop_cap_kill(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		_exit(2);
	data[0].effective &= ~(1u << CAP_KILL);
	data[0].permitted &= ~(1u << CAP_KILL);
	data[0].inheritable &= ~(1u << CAP_KILL);
	if (syscall(SYS_capset, &header, data) < 0)
		_exit(3);
}

/*
 * Where we are root, the worker is nobody, whom only CAP_KILL may signal; the leash needs none.
 * Where we are not, the worker is one of ours.
 */
static void test_kill_without_cap_kill(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct worker_options options = {
			.path = TEST_PROGRAMS "/hostile_worker",
			.name = "spins-sandboxed",
			.deadline_ns = 500000000,
		};
		struct worker_reply reply;
		struct worker *w = NULL;
		struct worker_stats stats;

		drop_cap_kill();
		if (worker_new(&w, &options) || query_image(w, &reply) != WORKER_E_DIED)
			_exit(4);
		worker_get_stats(w, &stats);
		worker_free(w);
		if (strcmp(stats.why, "too slow") != 0)
			_exit(5);
		_exit(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 6);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The daemon is gone, however: so is its worker, whatever it is busy with. */
static void test_ends_with_parent(void **state)
{
	struct pollfd ended = {.events = POLLIN};
	int ends[2], worker = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct worker *w = new_hostile("spins-sandboxed", 0);
		struct worker_request request = worker_request_of(WORKER_INSPECT, 0);
		struct pollfd ready = {.fd = worker_fd(w), .events = POLLIN};

		if (worker_send(w, &request) != WORKER_E_OK || poll(&ready, 1, 10000) != 1)
			_exit(1);
		worker = worker_pid(w);
		if (write(ends[1], &worker, sizeof(worker)) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies */
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &worker, sizeof(worker)), sizeof(worker));
	close(ends[0]);
	ended.fd = (int)syscall(SYS_pidfd_open, worker, 0);
	assert_true(ended.fd >= 0);
	assert_int_equal(poll(&ended, 1, 0), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(poll(&ended, 1, 10000), 1);
	close(ended.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_lies),
		LEFTOVERS_TEST(test_honest),
		LEFTOVERS_TEST(test_too_slow),
		LEFTOVERS_TEST(test_starved),
		LEFTOVERS_TEST(test_leaves_heir),
		LEFTOVERS_TEST(test_never_up),
		LEFTOVERS_TEST(test_never_read),
		LEFTOVERS_TEST(test_no_program),
		LEFTOVERS_TEST(test_rest_grows),
		LEFTOVERS_TEST(test_dies_after_answer),
		LEFTOVERS_TEST(test_last),
		LEFTOVERS_TEST(test_twice),
		LEFTOVERS_TEST(test_condemn),
		LEFTOVERS_TEST(test_busy),
		LEFTOVERS_TEST(test_kill_without_cap_kill),
		LEFTOVERS_TEST(test_ends_with_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
