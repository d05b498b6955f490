/* SPDX-License-Identifier: MIT */
/* Policy over a /proc of the test's own where it is about ids, over the real one for lifetimes. */
#include "daemon/control/policy.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/support/start.h"
#include "tests/support/temp_dir.h"

static const struct peer root = {.uid = 0, .privileged = true};

struct fake {
	struct temp_dir proc;
	pid_t child;
	struct peer peer;
	uid_t owner; /* of the status file */
	unsigned capabilities;
};

/*
 * A /proc in which a living child of ours has the ids that the test wants. In the texts 1000 stands
 * for the peer, who owns the file; without root, files can only be our own, and the peer is us.
 */
static void put_ids(FILE *file, const struct fake *f, const char *key, const char *ids)
{
	const char *at = ids;

	fprintf(file, "%s", key);
	for (; *at; at += strcspn(at, "\t"), at += *at == '\t')
		fprintf(file, "\t%u", atoi(at) == 1000 ? f->peer.uid : (unsigned)atoi(at));
	fprintf(file, "\n");
}

static void fake_ids(struct fake *f, const char *uids, const char *gids)
{
	char path[32];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%d", f->child);
	mkdirat(f->proc.fd, path, 0700);
	snprintf(path, sizeof(path), "%d/ns", f->child);
	mkdirat(f->proc.fd, path, 0700);
	snprintf(path, sizeof(path), "%d/ns/user", f->child);
	(void)!symlinkat("/proc/self/ns/user", f->proc.fd, path);
	snprintf(path, sizeof(path), "%d/status", f->child);
	fd = openat(f->proc.fd, path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	file = fdopen(fd, "w");
	assert_non_null(file);
	fprintf(file, "Name:\tx\nTgid:\t%d\n", f->child);
	put_ids(file, f, "Uid:", uids);
	put_ids(file, f, "Gid:", gids);
	fprintf(file, "CapPrm:\t%x\n", f->capabilities);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, f->owner, (gid_t)-1), 0);
	fclose(file);
}

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	temp_dir_make(&f->proc);
	f->peer.uid = f->peer.gid = f->owner = geteuid() ? geteuid() : 1000;
	f->child = fork();
	if (f->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies */
		pause();
		_exit(0);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	temp_dir_remove(&f->proc);
	free(f);
	return 0;
}

static int check(struct fake *f, Profd__Control__Start *start)
{
	int pidfd = -1;
	struct source_message why = {""};
	int outcome = policy_check_start(&f->peer, f->proc.fd, 0, start, &pidfd, &why);

	closep(&pidfd);
	return outcome;
}

static void test_whose_process(void **state)
{
	struct fake *f = *state;
	Profd__Control__Start r = START("", "", .target = TARGET_PID, .number = f->child);

	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	assert_int_equal(check(f, &r), 0);
	assert_true(r.no_kernel);
	fake_ids(f, "1001\t1001\t1001\t1001", "1000\t1000\t1000\t1000");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	/* Started by the peer, but with another's rights: set-user-ID, set-group-ID. */
	fake_ids(f, "1000\t0\t0\t0", "1000\t1000\t1000\t1000");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	fake_ids(f, "1000\t1000\t0\t1000", "1000\t1000\t1000\t1000");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t42\t42\t42");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	/* As that user, in a group that the peer is not in. */
	fake_ids(f, "1000\t1000\t1000\t1000", "42\t42\t42\t42");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	/* With capabilities. */
	f->capabilities = 0x400;
	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	f->capabilities = 0;
	/* Ids that look right, of a program that may not be looked into: the file is root's. */
	f->owner = 0;
	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	if (geteuid() == 0)
		assert_int_equal(check(f, &r), CONTROL_ERROR_DENIED);
	f->peer.privileged = true;
	assert_int_equal(check(f, &r), 0);
}

static void test_who_may_collect(void **state)
{
	struct fake *f = *state;
	Profd__Control__Collect own = {.which_case = PROFD__CONTROL__COLLECT__WHICH_PID,
				       .pid = f->child};
	const Profd__Control__Collect session = {
		.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION, .session = 1};
	const Profd__Control__Collect service = {.which_case =
							 PROFD__CONTROL__COLLECT__WHICH_SERVICE,
						 .service = (char[]){"a.service"}};
	const Profd__Control__Collect file = {
		.which_case = PROFD__CONTROL__COLLECT__WHICH_FILE,
		.file = (char[]){"services/a.service/20261121/20261121T090000Z-60s.pb.gz"}};
	const Profd__Control__Collect all = PROFD__CONTROL__COLLECT__INIT;
	struct source_message why;

	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &own, &why), 0);
	/* Whose it is is for the operation to know. */
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &session, &why), 0);
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &all, &why),
			 CONTROL_ERROR_DENIED);
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &service, &why),
			 CONTROL_ERROR_DENIED);
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &file, &why),
			 CONTROL_ERROR_DENIED);
	fake_ids(f, "1000\t0\t0\t0", "1000\t1000\t1000\t1000");
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &own, &why),
			 CONTROL_ERROR_DENIED);
	own.pid = 2147483647;
	assert_int_equal(policy_check_collect(&f->peer, f->proc.fd, &own, &why),
			 CONTROL_ERROR_NOT_FOUND);
	/* What is stored outlives the process. */
	assert_int_equal(policy_check_collect(&root, f->proc.fd, &own, &why), 0);
	assert_int_equal(policy_check_collect(&root, f->proc.fd, &all, &why), 0);
	assert_int_equal(policy_check_collect(&root, f->proc.fd, &file, &why), 0);
}

/*
 * A process that @prepare makes a user's, with capabilities, and whose number it returns: what
 * policy tells that user of it.
 */
static int check_real(pid_t (*prepare)(void), uid_t uid)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	Profd__Control__Start r = START("", "", .target = TARGET_PID);
	const struct peer peer = {.uid = uid, .gid = getegid() ? getegid() : uid};
	struct source_message why;
	int pidfd = -1, outcome, ready[2];
	pid_t child, made = 0;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		made = prepare();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (write(ready[1], &made, sizeof(made)) == sizeof(made))
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &made, sizeof(made)), sizeof(made));
	assert_true(made > 0);
	r.number = made;
	outcome = policy_check_start(&peer, proc_fd, 0, &r, &pidfd, &why);
	closep(&pidfd);
	if (made != child)
		kill(made, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	return outcome;
}

#define SOMEBODY 1000

/* As a service with User= and AmbientCapabilities= does. */
static pid_t become_capable(void)
{
	bool good = prctl(PR_SET_KEEPCAPS, 1) == 0 &&
		    setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
		    setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;

	return good ? getpid() : -1;
}

/* As root in a container of its own: a child, because a process with threads may not become one. */
static pid_t make_namespace(void)
{
	pid_t child;

	if ((geteuid() == 0 && (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
				setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0)) ||
	    prctl(PR_SET_DUMPABLE, 1) < 0)
		return -1;
	child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
	if (child)
		return child;
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		syscall(SYS_pselect6, 0, NULL, NULL, NULL, NULL, NULL);
}

/* Whose capabilities count: ptrace(2), cap_ptrace_access_check(). */
static void test_capabilities(void **state)
{
	uid_t uid = geteuid() ? geteuid() : SOMEBODY;

	(void)state;
	assert_int_equal(check_real(make_namespace, uid), 0);
	assert_int_equal(check_real(make_namespace, uid + 1), CONTROL_ERROR_DENIED);
	if (geteuid() == 0)
		assert_int_equal(check_real(become_capable, uid), CONTROL_ERROR_DENIED);
}

static void test_gone(void **state)
{
	struct fake *f = *state;
	Profd__Control__Start r = START("", "", .target = TARGET_PID, .number = f->child);

	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	kill(f->child, SIGKILL);
	/* A zombie still has its status file and its number, but nothing to profile. */
	waitid(P_PID, (id_t)f->child, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_int_equal(check(f, &r), CONTROL_ERROR_NOT_FOUND);
	r.target = TARGET_TID;
	assert_int_equal(check(f, &r), CONTROL_ERROR_NOT_FOUND);
	r.number = 2147483647;
	assert_int_equal(check(f, &r), CONTROL_ERROR_NOT_FOUND);
}

static void test_real_proc(void **state)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	Profd__Control__Start r = START("", "", .target = TARGET_PID, .number = getpid());
	int pidfd = -1;
	struct source_message why;

	(void)state;
	assert_int_equal(policy_check_start(&root, proc_fd, 1000, &r, &pidfd, &why), 0);
	assert_true(pidfd >= 0);
	assert_false(r.no_kernel);
	close(pidfd);
	pidfd = -1;
	r.target = TARGET_TID;
	assert_int_equal(policy_check_start(&root, proc_fd, 0, &r, &pidfd, &why), 0);
	assert_int_equal(pidfd, -1);
}

/* A rate may not come in by way of a period. */
static void test_rates(void **state)
{
	static const struct {
		const char *event;
		bool is_period;
		uint64_t rate;
		int outcome;
	} cases[] = {
		{"", false, 0, 0},
		{"", false, 1000, 0},
		{"", false, 1001, CONTROL_ERROR_DENIED},
		{"", true, 1000000000, CONTROL_ERROR_DENIED},
		{"cycles", true, 1000000000, CONTROL_ERROR_DENIED},
		{"cpu-clock", true, 1000000, 0},
		{"task-clock:u", true, 999999, CONTROL_ERROR_DENIED},
		{"off-cpu", true, 1000000, 0},
		{"off-cpu", true, 999999, CONTROL_ERROR_DENIED},
		{"wall", true, 1000000, 0},
		{"wall", false, 1001, CONTROL_ERROR_DENIED},
		{"wall-clock", true, 1000000, CONTROL_ERROR_DENIED},
	};
	struct fake *f = *state;

	fake_ids(f, "1000\t1000\t1000\t1000", "1000\t1000\t1000\t1000");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Profd__Control__Start r = START("", cases[i].event, .target = TARGET_PID,
						.number = f->child, .is_period = cases[i].is_period,
						.rate = cases[i].rate);

		assert_int_equal(check(f, &r), cases[i].outcome);
	}
}

static void test_may_control(void **state)
{
	const struct peer somebody = {.uid = 1000};

	(void)state;
	assert_true(policy_may_control(&root, 1000));
	assert_true(policy_may_control(&somebody, 1000));
	assert_false(policy_may_control(&somebody, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whose_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_who_may_collect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rates, setup, teardown),
		cmocka_unit_test(test_real_proc),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_may_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
