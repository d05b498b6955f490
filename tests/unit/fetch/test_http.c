/* SPDX-License-Identifier: MIT */
/* What is made of whatever the gateway answers; this program stands in for it (see main()). */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fetch/fetcher.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "tests/support/leftovers.h"
#include "tests/support/says.h"

/* --- the gateway ------------------------------------------------------------------------------ */

static int make_body(const char *mode)
{
	int fd = memfd_create("body", MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, "hello", 5) != 5 ||
	    (strcmp(mode, "large") == 0 && ftruncate(fd, HTTP_COMPLAINT_MAX + 1) < 0))
		_exit(90);
	if (strcmp(mode, "open") != 0 && fcntl(fd, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0)
		_exit(91);
	return fd;
}

/* What came with the request, for the test to see: flags, files. */
static void echo(const struct http_request_packet *request, const struct fd_packet *packet,
		 struct fetch_answer *answer)
{
	int n = snprintf(answer->text, sizeof(answer->text), "%x %llu ", request->flags,
			 (unsigned long long)request->timeout_ms);

	for (size_t i = 0; i < packet->n_fds; i++) {
		n += (int)pread(packet->fds[i], answer->text + n, 20, 0);
		answer->text[n++] = ';';
	}
	answer->outcome = FETCH_FAILED;
}

static void answer_one(const char *mode, const struct http_request_packet *request,
		       const struct fd_packet *packet)
{
	struct fetch_answer answer = {.magic = FETCH_MAGIC, .status = 200};
	int body = make_body(mode), two[2] = {body, body};
	size_t n = strcmp(mode, "no file") == 0 ? 0 : strcmp(mode, "two") == 0 ? 2 : 1;

	if (strcmp(mode, "exit") == 0)
		_exit(7);
	if (strcmp(mode, "killed") == 0)
		raise(SIGKILL);
	if (strcmp(mode, "hang") == 0)
		(void)!recv(FETCH_SOCKET_FD, &answer, 1, 0);
	if (strcmp(mode, "404") == 0)
		answer.status = 404;
	if (strcmp(mode, "outcome") == 0)
		answer.outcome = N_FETCH_OUTCOMES;
	if (strcmp(mode, "magic") == 0)
		answer.magic++;
	if (strcmp(mode, "text") == 0) {
		answer.outcome = FETCH_FAILED;
		memset(answer.text, 'x', sizeof(answer.text));
		memcpy(answer.text, "a\033[1m\nb", 7);
	}
	if (strcmp(mode, "echo") == 0)
		echo(request, packet, &answer);
	fd_packet_send(FETCH_SOCKET_FD, &answer, strcmp(mode, "short") == 0 ? 5 : sizeof(answer),
		       two, n, 0);
	close(body);
	if (strcmp(mode, "once") == 0)
		_exit(0);
}

static void be_gateway(void)
{
	struct http_request_packet request;
	struct fd_packet packet;

	while (!fd_packet_receive(FETCH_SOCKET_FD, &request, sizeof(request), 0, &packet)) {
		if (packet.length != sizeof(request) || request.magic != FETCH_MAGIC ||
		    request.length != strlen(request.url))
			_exit(94);
		answer_one(request.url, &request, &packet);
		fd_packet_deinit(&packet);
	}
	_exit(0);
}

/* --- tests ------------------------------------------------------------------------------------ */

static struct fetcher *new_http(void)
{
	struct fetcher *h = NULL;

	assert_int_equal(fetcher_new(&h, &(struct fetcher_options){.path = "/proc/self/exe",
								   .is_http = true}),
			 0);
	return h;
}

static int exchange(struct fetcher *h, const struct http_request *request, struct http_answer *ret,
		    struct fetcher_message *message)
{
	int r = http_send(h, request, message);

	return r ? r : http_receive(h, ret, message);
}

static void assert_answer(struct fetcher *h, const char *mode, unsigned status)
{
	const struct http_request request = {.url = mode, .timeout_ms = 1000, .max_bytes = 100};
	struct fetcher_message message = {{0}};
	struct http_answer answer;
	char text[8] = "";

	if (exchange(h, &request, &answer, &message) != FETCH_DONE)
		fail_msg("%s: %s", mode, message.text);
	assert_int_equal(answer.status, status);
	assert_int_equal(read(answer.fd, text, sizeof(text)), 5);
	assert_string_equal(text, "hello");
	assert_true(fcntl(answer.fd, F_GETFD) & FD_CLOEXEC);
	close(answer.fd);
}

static void assert_failure(const struct http_request *request, const char *says)
{
	cleanup(fetcher_freep) struct fetcher *h = new_http();
	struct fetcher_message message = {{0}};
	struct http_answer answer;

	if (exchange(h, request, &answer, &message) != FETCH_FAILED)
		fail_msg("%s: no failure", request->url);
	assert_says(message.text, says);
}

static void assert_fails(const char *mode, const char *says)
{
	const struct http_request request = {.url = mode, .timeout_ms = 1000, .max_bytes = 100};

	assert_failure(&request, says);
}

static void test_answers(void **state)
{
	cleanup(fetcher_freep) struct fetcher *h = new_http();
	siginfo_t ended;

	(void)state;
	assert_answer(h, "file", 200);
	assert_answer(h, "404", 404);
	assert_answer(h, "once", 200);
	/* Another one takes the place of what has ended. */
	assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
	assert_answer(h, "file", 200);
}

static void test_failures(void **state)
{
	(void)state;
	assert_fails("exit", "ended with status 7");
	assert_fails("killed", "killed by signal 9");
	assert_fails("outcome", "malformed answer");
	assert_fails("magic", "malformed answer");
	assert_fails("short", "malformed answer");
	assert_fails("no file", "sends no body");
	assert_fails("two", "sends no body");
	assert_fails("open", "sends no body");
	assert_fails("large", "sends no body");
	assert_fails("text", "a?[1m?b");
}

/* The gateway is to keep the timeout; where it does not, it is ended. */
static void test_hang(void **state)
{
	const struct http_request request = {.url = "hang", .timeout_ms = 10, .max_bytes = 100};

	(void)state;
	assert_failure(&request, "does not answer");
}

static void test_parts(void **state)
{
	static const uint8_t body[] = "0x1+0x2";
	char key[] = "/tmp/profd-test-http-XXXXXX";
	int fd = mkstemp(key);
	struct http_request request = {.url = "echo",
				       .body = body,
				       .length = sizeof(body) - 1,
				       .timeout_ms = 77,
				       .max_bytes = 100,
				       .key = key,
				       .certificate = "",
				       .is_insecure = true};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "secret", 6), 6);
	close(fd);
	assert_failure(&request, "3 77 0x1+0x2;;secret;;;");
	unlink(key);
	assert_failure(&request, "No such file");
	request = (struct http_request){.url = "echo", .timeout_ms = 77, .authorities = "/"};
	assert_failure(&request, "/: Is a directory");
	request = (struct http_request){.url = "echo", .timeout_ms = 77, .authorities = ""};
	assert_failure(&request, "0 77 ;;;;;");
}

static void test_headers(void **state)
{
	struct http_request request = {.url = "echo",
				       .timeout_ms = 77,
				       .max_bytes = 100,
				       .headers = "a: b\nc: d\n",
				       .is_delivery = true};

	(void)state;
	assert_failure(&request, "4 77 ;;;;a: b?c: d?;");
	request.is_delivery = false;
	assert_failure(&request, "headers are for deliveries");
	request.is_delivery = true;
	request.headers = "a: b\nc\n";
	assert_failure(&request, "line 2 of the headers is not");
	request.headers = "";
	request.content_type = "a\nb: c";
	assert_failure(&request, "no such type");
}

static void test_limits(void **state)
{
	cleanup(fetcher_freep) struct fetcher *h = new_http();
	cleanup(freep) char *url = malloc(HTTP_URL_MAX + 2);
	struct http_request request = {.url = url};
	struct fetcher_message message = {{0}};
	struct http_answer answer;

	(void)state;
	assert_non_null(url);
	memset(url, 'x', HTTP_URL_MAX + 1);
	url[HTTP_URL_MAX + 1] = '\0';
	assert_int_equal(http_send(h, &request, &message), FETCH_FAILED);
	assert_says(message.text, "longer than 4095");
	assert_int_equal(http_receive(h, &answer, &message), FETCH_FAILED);
	request.url = "hang";
	assert_int_equal(http_send(h, &request, &message), FETCH_DONE);
	assert_int_equal(http_send(h, &request, &message), -EBUSY);
}

/* One that is refused changes nothing of the request that waits for its answer. */
static void test_busy(void **state)
{
	cleanup(fetcher_freep) struct fetcher *h = new_http();
	struct http_request request = {.url = "file", .timeout_ms = 1000, .max_bytes = 100};
	struct fetcher_message message = {{0}};
	struct http_answer answer;

	(void)state;
	assert_int_equal(http_send(h, &request, &message), FETCH_DONE);
	request.max_bytes = 1;
	assert_int_equal(http_send(h, &request, &message), -EBUSY);
	assert_int_equal(http_receive(h, &answer, &message), FETCH_DONE);
	close(answer.fd);
}

static void test_no_gateway(void **state)
{
	const struct http_request request = {.url = "file"};
	struct fetcher_message message = {{0}};
	struct fetcher *h = NULL;

	(void)state;
	assert_int_equal(fetcher_new(&h,
				     &(struct fetcher_options){.path = "/nonexistent/profd-gateway",
							       .is_http = true}),
			 0);
	assert_int_equal(http_send(h, &request, &message), FETCH_FAILED);
	assert_says(message.text, "cannot start /nonexistent/profd-gateway: No such file");
	fetcher_free(h);
	fetcher_free(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_answers), LEFTOVERS_TEST(test_failures),
		LEFTOVERS_TEST(test_hang),    LEFTOVERS_TEST(test_parts),
		LEFTOVERS_TEST(test_limits),  LEFTOVERS_TEST(test_busy),
		LEFTOVERS_TEST(test_headers), LEFTOVERS_TEST(test_no_gateway),
	};

	if (argc > 1 && strcmp(argv[1], "--http") == 0)
		be_gateway();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
