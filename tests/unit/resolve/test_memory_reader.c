/* SPDX-License-Identifier: MIT */
/*
 * The reader with real processes. A reader that is stuck is one that was stopped. Time is what the
 * ticks are told; where the test waits for a process, a few seconds bound that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/resolve/memory_reader.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/resolve/fuse_fixture.h"

#define PAGE    4096u
#define N_PAGES 20u
#define MS      UINT64_C(1000000)

/* A process whose memory is known: N_PAGES at `bytes`, then nothing. */
struct target {
	uint8_t *bytes;
	pid_t pid;
};

static int epoll_fd;

static uint8_t expected_byte(size_t i)
{
	return (uint8_t)(i * 7 + i / PAGE);
}

static int start_target(void **state)
{
	struct target *t = calloc(1, sizeof(*t));
	int ready[2];
	char byte;

	assert_non_null(t);
	t->bytes = mmap(NULL, (N_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(t->bytes != MAP_FAILED);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		munmap(t->bytes + N_PAGES * PAGE, PAGE);
		for (size_t i = 0; i < N_PAGES * PAGE; i++)
			t->bytes[i] = expected_byte(i);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(epoll_fd >= 0);
	*state = t;
	return 0;
}

static int stop_target(void **state)
{
	struct target *t = *state;

	kill(t->pid, SIGKILL);
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
	munmap(t->bytes, (N_PAGES + 1) * PAGE);
	close(epoll_fd);
	free(t);
	return 0;
}

static bool try_read(struct memory_reader *m, uint64_t cookie, pid_t pid, const void *at,
		     size_t length)
{
	const struct memory_read read = {
		.process = pid, .task = pid, .address = (uintptr_t)at, .length = length};

	return memory_reader_request(m, cookie, &read);
}

static void request_read(struct memory_reader *m, uint64_t cookie, pid_t pid, const void *at,
			 size_t length)
{
	assert_true(try_read(m, cookie, pid, at, length));
}

static bool is_readable(int timeout_ms)
{
	struct pollfd fd = {.fd = epoll_fd, .events = POLLIN};

	return poll(&fd, 1, timeout_ms) == 1;
}

/* The next answer is @cookie's, of @length bytes, which are the target's from @at on. */
static void expect(struct memory_reader *m, const struct target *t, uint64_t cookie,
		   const uint8_t *at, size_t length)
{
	const uint8_t *data;
	uint64_t got;
	size_t n;

	assert_true(is_readable(PATIENT));
	assert_true(memory_reader_receive(m, &got, &data, &n));
	assert_true(got == cookie);
	assert_int_equal(n, length);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(data[i], expected_byte((size_t)(at - t->bytes) + i));
}

/* After a tick that gave up: the next answer is @cookie's, with nothing. */
static void expect_lost(struct memory_reader *m, uint64_t cookie)
{
	const uint8_t *data;
	uint64_t got;
	size_t n;

	assert_true(memory_reader_receive(m, &got, &data, &n));
	assert_true(got == cookie);
	assert_int_equal(n, 0);
}

static void expect_nothing(struct memory_reader *m)
{
	const uint8_t *data;
	uint64_t cookie;
	size_t n;

	assert_false(is_readable(0));
	assert_false(memory_reader_receive(m, &cookie, &data, &n));
}

static void test_reads_what_is_there(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	uint8_t *end = t->bytes + N_PAGES * PAGE;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	expect_nothing(m);
	request_read(m, 7, t->pid, t->bytes + 100, 8);
	expect(m, t, 7, t->bytes + 100, 8);
	request_read(m, 8, t->pid, t->bytes + 3, MEMORY_READ_MAX);
	expect(m, t, 8, t->bytes + 3, MEMORY_READ_MAX);
	request_read(m, 9, t->pid, t->bytes, SIZE_MAX);
	expect(m, t, 9, t->bytes, MEMORY_READ_MAX);
	request_read(m, 10, t->pid, end - PAGE - 5, 3 * PAGE);
	expect(m, t, 10, end - PAGE - 5, PAGE + 5);
	request_read(m, 11, t->pid, end - 1, PAGE);
	expect(m, t, 11, end - 1, 1);
	expect_nothing(m);
}

static void test_reads_what_is_another_users(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	int ready[2];
	pid_t pid;
	char byte;

	if (geteuid())
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (size_t i = 0; i < PAGE; i++)
			t->bytes[i] = expected_byte(i);
		/* As it is once it has executed a program. */
		if (setresuid(12345, 12345, 12345) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0 &&
		    prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	request_read(m, 1, pid, t->bytes, PAGE);
	expect(m, t, 1, t->bytes, PAGE);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_answers_what_is_not_there(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	pid_t gone = fork();

	assert_true(gone >= 0);
	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	request_read(m, 1, gone, t->bytes, 8);
	expect(m, t, 1, t->bytes, 0);
	request_read(m, 2, 0, t->bytes, 8);
	expect(m, t, 2, t->bytes, 0);
	request_read(m, 3, -1, t->bytes, 8);
	expect(m, t, 3, t->bytes, 0);
	request_read(m, 4, t->pid, t->bytes + N_PAGES * PAGE, 8);
	expect(m, t, 4, t->bytes, 0);
	request_read(m, 5, t->pid, NULL, MEMORY_READ_MAX);
	expect(m, t, 5, t->bytes, 0);
	request_read(m, 6, t->pid, (void *)UINTPTR_MAX, MEMORY_READ_MAX);
	expect(m, t, 6, t->bytes, 0);
	request_read(m, 7, t->pid, t->bytes, 0);
	expect(m, t, 7, t->bytes, 0);
	expect_nothing(m);
}

static void test_order_and_limit(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	pid_t reader;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	reader = servant_of(child_of(getpid(), t->pid), 0);
	make(reader, SIGSTOP, 'T');
	for (unsigned i = 0; i < MEMORY_READS_MAX; i++)
		request_read(m, i, t->pid, t->bytes + i, MEMORY_READ_MAX - i);
	assert_false(try_read(m, 99, t->pid, t->bytes, 8));
	expect_nothing(m);
	kill(reader, SIGCONT);
	for (unsigned i = 0; i < MEMORY_READS_MAX; i++)
		expect(m, t, i, t->bytes + i, MEMORY_READ_MAX - i);
	request_read(m, 100, t->pid, t->bytes, 8);
	expect(m, t, 100, t->bytes, 8);
}

/* @signal made the reader useless: after 200 ms its requests are lost, and there is another one. */
static void replaces_a_reader(const struct target *t, int signal, char wanted)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	pid_t keeper, reader, next;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	keeper = child_of(getpid(), t->pid);
	reader = servant_of(keeper, 0);
	make(reader, signal, wanted);
	request_read(m, 1, t->pid, t->bytes, 8);
	memory_reader_tick(m, 1000 * MS);
	memory_reader_tick(m, 1100 * MS);
	request_read(m, 2, t->pid, t->bytes, 8);
	memory_reader_tick(m, 1200 * MS);
	expect_nothing(m);
	memory_reader_tick(m, 1201 * MS);
	expect_lost(m, 1);
	expect_lost(m, 2);
	expect_nothing(m);
	/* The process may have been to blame. */
	assert_false(try_read(m, 3, t->pid, t->bytes + 3, 8));
	memory_reader_tick(m, 3201 * MS);
	request_read(m, 3, t->pid, t->bytes + 3, 8);
	expect(m, t, 3, t->bytes + 3, 8);
	expect_nothing(m);
	await_end(reader);
	next = servant_of(keeper, reader);
	assert_int_not_equal(next, reader);
	/* And once more, by the same keeper. */
	make(next, SIGSTOP, 'T');
	request_read(m, 4, t->pid, t->bytes, 8);
	memory_reader_tick(m, 4000 * MS);
	memory_reader_tick(m, 4201 * MS);
	expect_lost(m, 4);
	memory_reader_tick(m, 40000 * MS);
	request_read(m, 5, t->pid, t->bytes, 8);
	expect(m, t, 5, t->bytes, 8);
	expect_nothing(m);
}

static void test_a_stuck_reader_is_replaced(void **state)
{
	replaces_a_reader(*state, SIGSTOP, 'T');
}

/* What is asked for behind the process that is to blame is read, and that one's not again. */
static void test_others_lose_nothing(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	make(servant_of(child_of(getpid(), t->pid), 0), SIGSTOP, 'T');
	request_read(m, 1, getpid(), t->bytes, 8);
	request_read(m, 2, t->pid, t->bytes + 2, 8);
	request_read(m, 3, getpid(), t->bytes, 8);
	request_read(m, 4, t->pid, t->bytes + 4, PAGE);
	memory_reader_tick(m, 1000 * MS);
	memory_reader_tick(m, 1201 * MS);
	expect_lost(m, 1);
	expect(m, t, 2, t->bytes + 2, 8);
	expect_lost(m, 3);
	expect(m, t, 4, t->bytes + 4, PAGE);
	expect_nothing(m);
	assert_false(try_read(m, 5, getpid(), t->bytes, 8));
	request_read(m, 5, t->pid, t->bytes, 8);
	expect(m, t, 5, t->bytes, 8);
}

static void *mapped;
static volatile pid_t toucher;

static void *touch_page(void *unused)
{
	(void)unused;
	toucher = gettid();
	return (void *)(uintptr_t) * (volatile char *)mapped;
}

static bool comes_to_state(volatile pid_t *pid, char wanted)
{
	char state = 0;
	pid_t parent;

	for (int i = 0; state != wanted && i < PATIENT / 5; i++) {
		if (!*pid || !look(*pid, &parent, &state) || state != wanted)
			nap();
	}
	return state == wanted;
}

/*
 * A process that holds its memory's lock until its file system's server ends: it maps a file of
 * which a page is still being read.
 */
static pid_t hold_memory(const struct fuse_world *fuse, const char *directory)
{
	pid_t pid = fork();
	char path[PATH_MAX];
	pthread_t thread;
	int fd;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/file", directory + 1);
	if (setns(fuse->user_ns_fd, CLONE_NEWUSER) < 0 ||
	    (fd = openat(fuse->root_fd, path, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0)
		_exit(1);
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED || pthread_create(&thread, NULL, touch_page, NULL) ||
	    !comes_to_state(&toucher, 'S'))
		_exit(1);
	mmap(mapped, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	_exit(1);
}

/* That it was given up is also its end: it is not left waiting for a lock that a stranger holds. */
static void test_a_reader_that_is_held_up_can_be_killed(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	struct fuse_world fuse = {0};
	struct temp_dir dir;
	pid_t holder, reader;

	if (geteuid())
		skip(); /* nobody else may read memory of another user namespace */
	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	reader = servant_of(child_of(getpid(), t->pid), 0);
	temp_dir_make(&dir);
	if (!fuse_start(&fuse, dir.path, FUSE_READ, PAGE)) {
		temp_dir_remove(&dir);
		skip();
	}
	holder = hold_memory(&fuse, dir.path);
	assert_true(comes_to_state(&holder, 'D'));
	request_read(m, 1, holder, t->bytes, 8);
	assert_true(comes_to_state(&reader, 'D'));
	memory_reader_tick(m, 1000 * MS);
	memory_reader_tick(m, 1201 * MS);
	expect_lost(m, 1);
	request_read(m, 2, t->pid, t->bytes, 8);
	expect(m, t, 2, t->bytes, 8);
	await_end(reader);
	fuse_stop(&fuse);
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	temp_dir_remove(&dir);
}

static void test_a_dead_reader_is_replaced(void **state)
{
	replaces_a_reader(*state, SIGKILL, 'Z');
}

/* Answers that nobody took are no reason to replace who gave them. */
static void test_a_late_caller_loses_nothing(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	pid_t keeper, reader;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	keeper = child_of(getpid(), t->pid);
	reader = servant_of(keeper, 0);
	request_read(m, 1, t->pid, t->bytes, 8);
	memory_reader_tick(m, 1000 * MS);
	assert_true(is_readable(PATIENT));
	memory_reader_tick(m, 9000 * MS);
	expect(m, t, 1, t->bytes, 8);
	memory_reader_tick(m, 9001 * MS);
	assert_int_equal(servant_of(keeper, 0), reader);
}

static void test_a_lost_keeper_comes_back(void **state)
{
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	struct target *t = *state;
	const uint8_t *data;
	uint64_t cookie;
	pid_t keeper, reader;
	size_t n;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	keeper = child_of(getpid(), t->pid);
	reader = servant_of(keeper, 0);
	make(reader, SIGSTOP, 'T');
	request_read(m, 1, t->pid, t->bytes, 8);
	make(keeper, SIGKILL, 'Z'); /* and the reader with it */
	expect(m, t, 1, t->bytes, 0);
	assert_false(is_readable(0));
	assert_false(try_read(m, 2, t->pid, t->bytes, 8));
	for (unsigned i = 0; i < 3; i++)
		memory_reader_tick(m, (10000 + i) * MS);
	request_read(m, 3, t->pid, t->bytes + 9, 8);
	expect(m, t, 3, t->bytes + 9, 8);

	/* At most once a second; and with nothing under way. */
	keeper = child_of(getpid(), t->pid);
	make(keeper, SIGKILL, 'Z');
	assert_true(is_readable(PATIENT));
	assert_false(memory_reader_receive(m, &cookie, &data, &n));
	memory_reader_tick(m, 10500 * MS);
	assert_false(try_read(m, 4, t->pid, t->bytes, 8));
	memory_reader_tick(m, 11002 * MS);
	request_read(m, 5, t->pid, t->bytes, 8);
	expect(m, t, 5, t->bytes, 8);
}

static unsigned count_fds(pid_t pid)
{
	struct dirent *entry;
	char path[64];
	unsigned n = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	assert_non_null(fds);
	while ((entry = readdir(fds)))
		n += entry->d_name[0] != '.';
	closedir(fds);
	return n;
}

static void test_children_have_no_fds_and_end(void **state)
{
	struct memory_reader *m = NULL;
	struct target *t = *state;
	pid_t keeper, reader;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	keeper = child_of(getpid(), t->pid);
	reader = servant_of(keeper, 0);
	request_read(m, 1, t->pid, t->bytes, 8);
	expect(m, t, 1, t->bytes, 8); /* it is at its work */
	assert_int_equal(count_fds(keeper), 2);
	assert_int_equal(count_fds(reader), 1);
	make(reader, SIGSTOP, 'T');
	memory_reader_free(m);
	assert_int_equal(kill(keeper, 0), -1);
	assert_int_equal(errno, ESRCH);
	await_end(reader);
	assert_int_equal(child_of(getpid(), t->pid), 0);
	memory_reader_free(NULL);
}

/* However profd ends, its children do as well. */
static void test_children_are_confined(void **state)
{
	const uint64_t kept = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
	cleanup(memory_reader_freep) struct memory_reader *m = NULL;
	pid_t keeper;

	assert_int_equal(memory_reader_new(&m, epoll_fd), 0);
	keeper = child_of(getpid(), ((struct target *)*state)->pid);
	assert_confined(servant_of(keeper, 0), 2, kept);
	assert_confined(keeper, 1, kept);
}

static void test_children_die_with_their_parent(void **state)
{
	pid_t profd, keeper, reader;

	(void)state;
	profd = fork();
	assert_true(profd >= 0);
	if (profd == 0) {
		struct memory_reader *m;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (memory_reader_new(&m, epoll_fd))
			_exit(1);
		for (;;)
			pause();
	}
	keeper = servant_of(profd, 0);
	reader = servant_of(keeper, 0);
	make(reader, SIGSTOP, 'T');
	make(profd, SIGKILL, 'Z');
	assert_int_equal(waitpid(profd, NULL, 0), profd);
	await_end(keeper);
	await_end(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_is_there),
		cmocka_unit_test(test_reads_what_is_another_users),
		cmocka_unit_test(test_answers_what_is_not_there),
		cmocka_unit_test(test_order_and_limit),
		cmocka_unit_test(test_a_stuck_reader_is_replaced),
		cmocka_unit_test(test_others_lose_nothing),
		cmocka_unit_test(test_a_reader_that_is_held_up_can_be_killed),
		cmocka_unit_test(test_a_dead_reader_is_replaced),
		cmocka_unit_test(test_a_late_caller_loses_nothing),
		cmocka_unit_test(test_a_lost_keeper_comes_back),
		cmocka_unit_test(test_children_have_no_fds_and_end),
		cmocka_unit_test(test_children_are_confined),
		cmocka_unit_test(test_children_die_with_their_parent),
	};

	return cmocka_run_group_tests(tests, start_target, stop_target);
}
