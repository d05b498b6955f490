/* SPDX-License-Identifier: MIT */
/* Packets with descriptors, sealed memory, and children that are given both. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "tests/support/leftovers.h"

static void make_pair(int sockets[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
}

static void test_packet(void **state)
{
	char hello[] = "hello";
	const struct iovec parts[] = {{.iov_base = hello, .iov_len = 2},
				      {.iov_base = hello + 2, .iov_len = 3}};
	int sockets[2], files[2];
	struct fd_packet packet;
	char data[8];

	(void)state;
	make_pair(sockets);
	assert_int_equal(pipe2(files, O_CLOEXEC), 0);
	assert_false(fd_packet_await(sockets[1], clock_ns(CLOCK_MONOTONIC) + 1000));
	assert_int_equal(fd_packet_receive(sockets[1], data, sizeof(data), MSG_DONTWAIT, &packet),
			 FD_PACKET_E_LATER);
	assert_int_equal(fd_packet_send_parts(sockets[0], parts, 2, files, 2, 0), FD_PACKET_E_OK);
	assert_true(fd_packet_await(sockets[1], UINT64_MAX));
	assert_int_equal(fd_packet_receive(sockets[1], data, sizeof(data), 0, &packet),
			 FD_PACKET_E_OK);
	assert_int_equal(packet.length, 5);
	assert_memory_equal(data, "hello", 5);
	assert_int_equal(packet.n_fds, 2);
	assert_false(packet.is_cut);
	assert_true(fcntl(packet.fds[0], F_GETFD) & FD_CLOEXEC);
	/* The second is the pipe's end that is written to. */
	assert_int_equal(write(packet.fds[1], "x", 1), 1);
	assert_int_equal(read(files[0], data, 1), 1);
	close(steal_fd(&packet.fds[0]));
	fd_packet_deinit(&packet);
	close(sockets[0]);
	assert_int_equal(fd_packet_send(sockets[1], "", 1, NULL, 0, 0), FD_PACKET_E_END);
	assert_int_equal(fd_packet_receive(sockets[1], data, sizeof(data), 0, &packet),
			 FD_PACKET_E_END);
	close(sockets[1]);
	close(files[0]);
	close(files[1]);
}

/* What has no room is not received, and that is seen; nothing is left open (leftovers.h). */
static void test_too_much(void **state)
{
	int sockets[2], files[FD_PACKET_FDS_MAX + 1];
	struct fd_packet packet;
	union {
		char bytes[CMSG_SPACE(sizeof(files))];
		struct cmsghdr header;
	} control = {.bytes = {0}};
	char data[] = "hello";
	struct iovec part = {.iov_base = data, .iov_len = 5};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	(void)state;
	make_pair(sockets);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		files[i] = sockets[0];
	assert_int_equal(fd_packet_send(sockets[0], "", 1, files, ARRAY_SIZE(files), 0), -EINVAL);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(&control.header), files, sizeof(files));
	assert_int_equal(sendmsg(sockets[0], &message, 0), 5);
	assert_int_equal(fd_packet_receive(sockets[1], data, 5, 0, &packet), FD_PACKET_E_OK);
	assert_true(packet.is_cut);
	assert_true(packet.n_fds <= FD_PACKET_FDS_MAX);
	fd_packet_deinit(&packet);
	assert_int_equal(fd_packet_send(sockets[0], "hello", 5, NULL, 0, 0), FD_PACKET_E_OK);
	assert_int_equal(fd_packet_receive(sockets[1], data, 4, 0, &packet), FD_PACKET_E_OK);
	assert_true(packet.is_cut);
	close(sockets[0]);
	close(sockets[1]);
}

static void test_memory(void **state)
{
	int fd = memory_file_of("test", "hello", 5);
	uint64_t length = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_true(memory_file_is_sealed(fd, &length));
	assert_int_equal(length, 5);
	assert_int_equal(memory_file_write(fd, "x", 1), -EPERM);
	close(fd);
	fd = memory_file_new("test");
	assert_int_equal(memory_file_write(fd, "hello", 5), 0);
	assert_false(memory_file_is_sealed(fd, &length));
	close(fd);
	assert_false(memory_file_is_sealed(STDIN_FILENO, &length));
}

static const int types[] = {SOCK_STREAM, SOCK_STREAM};

static int run_shell(struct child *c, const char *script, char *const *environment,
		     int *ret_sockets)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	return child_start(c,
			   &(struct child_program){
				   .path = "/bin/sh",
				   .argv = (char *const *)(uintptr_t)argv,
				   .environment = environment,
				   .sockets = types,
				   .n_sockets = ret_sockets ? ARRAY_SIZE(types) : 0,
			   },
			   ret_sockets);
}

/* It has its sockets, in their order, and nothing else. */
static void test_child(void **state)
{
	static const char *const kept[] = {"HELPER_KEPT="};
	cleanup(freep) char **environment = NULL;
	char added[] = "HELPER_ADDED=added";
	int sockets[2], status = -1;
	struct child c = CHILD_NONE;
	char text[64];
	ssize_t n;

	(void)state;
	setenv("HELPER_KEPT", "kept", 1);
	setenv("HELPER_OTHER", "other", 1);
	assert_int_equal(child_environment(&environment, kept, 1, added), 0);
	assert_int_equal(run_shell(&c,
				   "echo a$HELPER_KEPT$HELPER_OTHER$HELPER_ADDED >&3; echo b >&4; "
				   "for i in 5 6 7 8 9; do [ ! -e /proc/$$/fd/$i ] || echo $i >&4; "
				   "done; exit 5",
				   environment, sockets),
			 0);
	n = read(sockets[0], text, sizeof(text));
	assert_int_equal(n, 11);
	assert_memory_equal(text, "akeptadded\n", 11);
	assert_true(child_reap(&c, 10000, &status));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
	assert_int_equal(c.pid, 0);
	assert_true(child_reap(&c, 0, &status));
	n = read(sockets[1], text, sizeof(text));
	assert_int_equal(n, 2);
	assert_memory_equal(text, "b\n", 2);
	close(sockets[0]);
	close(sockets[1]);
	unsetenv("HELPER_KEPT");
	unsetenv("HELPER_OTHER");
	free(environment);
	environment = NULL;
	setenv("HELPER_ADDED", "ours", 1);
	assert_int_equal(child_environment(&environment, NULL, 0, added), 0);
	for (char **at = environment; *at; at++)
		assert_string_not_equal(*at, "HELPER_ADDED=ours");
	unsetenv("HELPER_ADDED");
}

static void test_child_that_stays(void **state)
{
	char *const environment[] = {NULL};
	char *const argv[] = {NULL};
	struct child c = CHILD_NONE;
	int status = 0;

	(void)state;
	assert_int_equal(
		run_shell(&c, "read line; while :; do /bin/sleep 9; done", environment, NULL), 0);
	assert_false(child_reap(&c, 10, &status));
	assert_int_equal(kill(-c.pid, SIGKILL), 0); /* a session of its own */
	assert_true(child_reap(&c, 10000, &status));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(child_start(&c,
				     &(struct child_program){.path = "/nowhere/nothing",
							     .argv = argv,
							     .environment = environment},
				     NULL),
			 -ENOENT);
	assert_int_equal(c.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_packet),           LEFTOVERS_TEST(test_too_much),
		LEFTOVERS_TEST(test_memory),           LEFTOVERS_TEST(test_child),
		LEFTOVERS_TEST(test_child_that_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
