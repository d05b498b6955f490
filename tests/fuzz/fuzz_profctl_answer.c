/* SPDX-License-Identifier: MIT */
/*
 * profctl beside a profd that answers anything, on a terminal. The first byte chooses the command
 * line, two say how long the first packet is; a second one has the rest. Whatever comes, no
 * character may reach the terminal that does anything to it, and what is wrong is told.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/profctl/call.h"
#include "common/cleanup.h"
#include "common/packet.h"
#include "common/utf8.h"

#define HEAD     3
#define FILE_MAX ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What profd answers next: one input at a time. */
static const uint8_t *answer;
static size_t n_answer, n_first;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void send_packet(int fd, const uint8_t *data, size_t size)
{
	uint8_t header[PACKET_HEADER_SIZE];

	packet_put_header(header, size);
	require(send(fd, header, sizeof(header), 0) == sizeof(header));
	require(send(fd, data, size, 0) == (ssize_t)size);
}

/* Whatever the path: to a profd that has answered and gone before it is asked. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int ends[2];

	(void)address;
	(void)length;
	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	require(dup2(ends[0], fd) == fd);
	close(ends[0]);
	send_packet(ends[1], answer, n_first);
	if (n_answer > n_first)
		send_packet(ends[1], answer + n_first, n_answer - n_first);
	close(ends[1]);
	return 0;
}

static void check_text(const char *text)
{
	bool is_harmless;

	for (; *text; text += utf8_next(text, &is_harmless)) {
		utf8_next(text, &is_harmless);
		require(is_harmless || *text == '\n' || *text == '\t');
	}
}

static void run_verb(const char *name, char **argv, int argc)
{
	cleanup(freep) char *out = NULL, *err = NULL;
	struct context context = {.verb = name, .socket = "x", .terminal = true};
	const struct verb *verb = verbs;
	size_t n_out, n_err;
	int status;

	while (strcmp(verb->name, name) != 0)
		verb++;
	context.out = open_memstream(&out, &n_out);
	context.err = open_memstream(&err, &n_err);
	require(context.out && context.err);
	status = verb->run(&context, argc, argv);
	fclose(context.out);
	fclose(context.err);
	require(status == STATUS_DONE || n_err);
	require(strlen(out) == n_out && strlen(err) == n_err);
	check_text(out);
	check_text(err);
}

/* As `record` and `top` do. */
static void take_answer(void)
{
	struct context context = {.socket = "x"};
	struct taken taken;
	int r = take_window(&context, 1, &taken);

	require(r == TAKE_E_OK || !taken.profile);
	check_text(taken.trouble);
	profile_free(taken.profile);
}

/* profctl asks for memory for all of it at once. */
static bool is_large(void)
{
	cleanup(response_freep) Profd__Control__Response *response =
		profd__control__response__unpack(NULL, n_first, answer);

	return response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_COLLECTED &&
	       response->collected->bytes > FILE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const lines[][6] = {
		{"status"},
		{"status", "--json"},
		{"list"},
		{"list", "--json"},
		{"list", "-s", "x"},
		{"list", "-s", "x", "--json"},
		{"start", "1"},
		{"start", "1", "--json"},
		{"stop", "s1"},
		{"flush", "--json"},
		{"pause"},
		{"epoch"},
		{"config"},
		{"config", "--json"},
		{"vacuum"},
		{"collect", "--format", "collapsed", "-o", "-"},
	};
	char *argv[7];
	unsigned line;
	int argc = 0;

	if (size < HEAD)
		return 0;
	line = data[0] % (ARRAY_SIZE(lines) + 1);
	answer = data + HEAD;
	n_answer = size - HEAD;
	n_first = (size_t)data[1] << 8 | data[2];
	n_first = n_first < n_answer ? n_first : n_answer;
	if (is_large())
		return 0;
	if (line == ARRAY_SIZE(lines)) {
		take_answer();
		return 0;
	}
	/* Parsers change their order. */
	for (; argc < 6 && lines[line][argc]; argc++)
		argv[argc] = (char *)(uintptr_t)lines[line][argc];
	argv[argc] = NULL;
	run_verb(argv[0], argv, argc);
	return 0;
}
