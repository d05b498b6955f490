/* SPDX-License-Identifier: MIT */
/* What depends on who asks: clients are child processes of another uid. */
#include "tests/unit/control/listener_fixture.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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

static int send_verb_for_code(int fd, Profd__Control__Request__VerbCase verb)
{
	send_verb(fd, verb);
	return code_of(fd);
}

static int start(int fd, Profd__Control__TargetKind target, int64_t number, uint64_t rate)
{
	send_start(fd, target, number, rate);
	return code_of(fd);
}

#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition))                                     \
			return __LINE__ & 0x7f ? __LINE__ & 0x7f : 1; \
	} while (0)

static int child_unprivileged(struct world *w, pid_t root_pid)
{
	static const Profd__Control__Request__VerbCase denied[] = {
		PROFD__CONTROL__REQUEST__VERB_PAUSE,  PROFD__CONTROL__REQUEST__VERB_RESUME,
		PROFD__CONTROL__REQUEST__VERB_EPOCH,  PROFD__CONTROL__REQUEST__VERB_CONFIG,
		PROFD__CONTROL__REQUEST__VERB_WANTED, PROFD__CONTROL__REQUEST__VERB_COLLECT,
		PROFD__CONTROL__REQUEST__VERB_LIST,
	};
	pid_t own = fork(), dead;
	int fd;

	if (own == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the check that fails returns */
		pause();
		_exit(0);
	}
	dead = fork();
	if (dead == 0)
		_exit(0);
	CHECK(waitpid(dead, NULL, 0) == dead);
	CHECK(unixsock_connect(w->path, &fd) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		CHECK(send_verb_for_code(fd, denied[i]) == 4);
	CHECK(send_verb_for_code(fd, PROFD__CONTROL__REQUEST__VERB_STATUS) == 0);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, own, 1000) == 0);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__TID, own, 0) == 0);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, own, 1001) == 4);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, root_pid, 99) == 4);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__TID, root_pid, 99) == 4);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, dead, 99) == 5);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__ALL, 0, 99) == 4);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__UID, getuid(), 99) == 4);
	kill(own, SIGKILL);
	return 0;
}

static int child_over_quota(struct world *w, pid_t unused)
{
	int fd;

	(void)unused;
	CHECK(unixsock_connect(w->path, &fd) == 0);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, getpid(), 99) == 4);
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
	CHECK(send_verb_for_code(fd, PROFD__CONTROL__REQUEST__VERB_EPOCH) == 0);
	CHECK(start(fd, PROFD__CONTROL__TARGET_KIND__PID, root_pid, 4000) == 0);
	return 0;
}

static void test_unprivileged(void **state)
{
	struct world *w = *state;

	assert_int_equal(as_user(w, NOBODY, NOBODY, child_unprivileged, getpid()), 0);
	assert_int_equal(w->n_calls, 2);
	assert_true(w->started.no_kernel);
	assert_int_equal(w->started_uid, NOBODY);
	w->n_sessions = POLICY_SESSIONS_MAX;
	assert_int_equal(as_user(w, NOBODY, NOBODY, child_over_quota, 0), 0);
	assert_int_equal(as_user(w, NOBODY, NOBODY, child_many_connections, 0), 0);
	expect_serving(w);
}

/* A stranger who reads no answer leaves room for those of the privileged. */
static void test_never_reading_stranger(void **state)
{
	struct world *w = *state;
	cleanup(closep) int first = -1, second = -1, own = client(w);
	Profd__Control__Response *response;

	assert_int_equal(seteuid(NOBODY), 0); /* as connect(2) sees it */
	first = client(w);
	second = client(w);
	assert_int_equal(seteuid(0), 0);
	w->config_size = PACKET_RESPONSE_MAX - 1000;
	send_stop(first, 0);
	run(w, 5);
	w->config_size = 2000;
	send_stop(second, 0);
	send_verb(own, PROFD__CONTROL__REQUEST__VERB_CONFIG);
	run(w, 5);
	expect_error(second, 1, "try again");
	response = receive(own, 1000);
	assert_non_null(response);
	assert_int_equal(response->result_case, PROFD__CONTROL__RESPONSE__RESULT_TEXT);
	profd__control__response__free_unpacked(response, NULL);
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

/* Whoever the daemon runs as may do everything. */
static void test_own_user(void **state)
{
	struct world *w = *state;
	cleanup(closep) int fd = client(w);

	w->n_sessions = POLICY_SESSIONS_MAX;
	send_start(fd, PROFD__CONTROL__TARGET_KIND__ALL, 0, POLICY_HZ_MAX + 1);
	run(w, 5);
	expect_text(fd, "s1");
	assert_int_equal(w->started_uid, geteuid());
	assert_int_equal(w->started.rate, POLICY_HZ_MAX + 1);
	assert_false(w->started.no_kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_own_user)};
	const struct CMUnitTest as_root[] = {TEST(test_unprivileged), TEST(test_group),
					     TEST(test_never_reading_stranger)};
	int failed = cmocka_run_group_tests_name("listener, own user", tests, NULL, NULL);

	/* To be somebody else takes root; the lane that runs as root runs these too. */
	if (geteuid() == 0)
		failed += cmocka_run_group_tests_name("listener, other users", as_root, NULL, NULL);
	else
		fprintf(stderr, "not root: the tests with other users are left to the root lane\n");
	return failed;
}
