/* SPDX-License-Identifier: MIT */
#include "common/unixsock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/packet.h"

struct pair {
	int a, b;
};

static struct pair pair_new(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){.a = fds[0], .b = fds[1]};
}

static void test_packets(void **state)
{
	struct pair p = pair_new();
	uint8_t *data = NULL;
	size_t size = 99;

	(void)state;
	assert_int_equal(unixsock_send(p.a, (const uint8_t *)"hello", 5, 100), UNIXSOCK_E_OK);
	assert_int_equal(unixsock_send(p.a, NULL, 0, 100), UNIXSOCK_E_OK);
	assert_int_equal(unixsock_receive(p.b, 5, 100, &data, &size), UNIXSOCK_E_OK);
	assert_int_equal(size, 5);
	assert_memory_equal(data, "hello", 5);
	free(data);
	assert_int_equal(unixsock_receive(p.b, 5, 100, &data, &size), UNIXSOCK_E_OK);
	assert_int_equal(size, 0);
	free(data);
	close(p.a);
	close(p.b);
}

static void test_what_goes_wrong(void **state)
{
	static uint8_t large[4 << 20];
	struct pair p = pair_new();
	uint8_t *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(unixsock_receive(p.b, 5, 20, &data, &size), UNIXSOCK_E_TIMEOUT);
	assert_int_equal(send(p.a, "\0\0\0\5he", 6, 0), 6);
	assert_int_equal(unixsock_receive(p.b, 5, 20, &data, &size), UNIXSOCK_E_TIMEOUT);
	assert_int_equal(send(p.a, "\0\0\0\6", 4, 0), 4);
	assert_int_equal(unixsock_receive(p.b, 5, 20, &data, &size), UNIXSOCK_E_TOO_LARGE);
	/* Nobody reads: the buffer fills up. */
	assert_int_equal(unixsock_send(p.a, large, sizeof(large), 50), UNIXSOCK_E_TIMEOUT);
	close(p.b);
	assert_int_equal(unixsock_send(p.a, large, 1, 50), UNIXSOCK_E_CLOSED);
	assert_int_equal(unixsock_receive(p.a, 5, 50, &data, &size), UNIXSOCK_E_CLOSED);
	assert_null(data);
	close(p.a);
}

/* An answer that came before the other side closed is not lost. */
static void test_answer_before_close(void **state)
{
	struct pair p = pair_new();
	uint8_t *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(send(p.a, "unread", 6, 0), 6);
	assert_int_equal(unixsock_send(p.b, (const uint8_t *)"no", 2, 50), UNIXSOCK_E_OK);
	close(p.b);
	assert_int_equal(unixsock_send(p.a, (const uint8_t *)"x", 1, 50), UNIXSOCK_E_CLOSED);
	assert_int_equal(unixsock_receive(p.a, 5, 50, &data, &size), UNIXSOCK_E_OK);
	assert_memory_equal(data, "no", 2);
	free(data);
	close(p.a);
}

static void test_paths(void **state)
{
	char path[200];
	int fd;

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	assert_int_equal(unixsock_connect(path, &fd), UNIXSOCK_E_BAD_PATH);
	path[107] = '\0';
	assert_int_equal(unixsock_connect(path, &fd), UNIXSOCK_E_NOBODY);
	assert_int_equal(unixsock_connect("", &fd), UNIXSOCK_E_BAD_PATH);
	assert_int_equal(unixsock_connect("/dev/null", &fd), UNIXSOCK_E_NOBODY);
	assert_int_equal(unixsock_listen("/dev/null", 0600, (gid_t)-1, &fd), UNIXSOCK_E_IN_USE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_what_goes_wrong),
		cmocka_unit_test(test_answer_before_close),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
