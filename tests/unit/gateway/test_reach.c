/* SPDX-License-Identifier: MIT */
/* Which addresses are inner ones, and that a restricted process does not connect to them. */
#include "client/gateway/fetch/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "common/cleanup.h"

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage ret = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&ret;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret;

	ret.ss_family = AF_INET;
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		return ret;
	ret.ss_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
	return ret;
}

static void test_addresses(void **state)
{
	static const char *const inner[] = {"0.0.0.0",
					    "127.0.0.1",
					    "127.255.255.255",
					    "10.1.2.3",
					    "172.16.0.1",
					    "172.31.255.255",
					    "192.168.0.1",
					    "169.254.169.254",
					    "100.64.0.1",
					    "224.0.0.1",
					    "255.255.255.255",
					    "::",
					    "::1",
					    "fe80::1",
					    "febf::1",
					    "fc00::1",
					    "fd12::1",
					    "fec0::1",
					    "ff02::1",
					    "::ffff:127.0.0.1",
					    "::ffff:10.0.0.1",
					    "64:ff9b::7f00:1",
					    "::7f00:1"};
	static const char *const outer[] = {"1.1.1.1",        "9.255.255.255",  "11.0.0.0",
					    "100.63.255.255", "100.128.0.0",    "126.255.255.255",
					    "128.0.0.1",      "169.253.0.1",    "172.15.0.1",
					    "172.32.0.0",     "192.167.0.1",    "193.168.0.1",
					    "2001:db8::1",    "::ffff:8.8.8.8", "64:ff9b::808:808"};
	struct sockaddr_storage a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		a = address_of(inner[i]);
		if (!reach_is_inner((struct sockaddr *)&a))
			fail_msg("%s is an inner address", inner[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(outer); i++) {
		a = address_of(outer[i]);
		if (reach_is_inner((struct sockaddr *)&a))
			fail_msg("%s is no inner address", outer[i]);
	}
}

/* What connect(2) to a port of ours ends with, where @urls are the servers: an errno. */
static int errno_of_connect(const char *urls, bool restricted, bool is_proxy)
{
	struct sockaddr_in here = {.sin_family = AF_INET};
	cleanup(closep) int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(here);
	char proxy[64];
	int status;
	pid_t pid;

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(server, (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&here, &size), 0);
	pid = fork();
	if (!pid) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		setenv("DEBUGINFOD_URLS", urls, 1);
		snprintf(proxy, sizeof(proxy), "http://localhost:%d", ntohs(here.sin_port));
		unsetenv("all_proxy");
		if (is_proxy)
			setenv("all_proxy", proxy, 1);
		if (restricted)
			reach_restrict();
		_exit(connect(fd, (struct sockaddr *)&here, sizeof(here)) ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_connections(void **state)
{
	(void)state;
	assert_int_equal(errno_of_connect("https://192.0.2.1/", false, false), 0);
	assert_int_equal(errno_of_connect("https://192.0.2.1/", true, false), EACCES);
	assert_int_equal(errno_of_connect("https://192.0.2.1/ http://[2001:db8::1]:8002", true,
					  false),
			 EACCES);
	assert_int_equal(errno_of_connect("", true, false), EACCES);
	assert_int_equal(errno_of_connect("https://192.0.2.1/", true, true), 0);
	/* One that is itself an inner one may lead there. */
	assert_int_equal(errno_of_connect("https://192.0.2.1/ http://10.0.0.1:8002/x", true, false),
			 0);
	assert_int_equal(errno_of_connect("http://[::1]:8002", true, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
