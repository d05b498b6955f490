/* SPDX-License-Identifier: MIT */
/*
 * hostile_worker: image workers that lie, hang and die, for the client that must survive them.
 * Which one it is, the name it is started under says: "profd-image-worker: MODE".
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/worker/protocol.h"
#include "daemon/worker/sandbox.h"

struct lie {
	struct worker_answer_header header;
	size_t header_length;
	int fds[8];
	size_t n_fds;
};

static void say(const struct lie *lie)
{
	if (fd_packet_send(WORKER_SOCKET_FD, &lie->header, lie->header_length, lie->fds, lie->n_fds,
			   0))
		_exit(9);
}

/* A payload of @length bytes. */
static void put_payload(size_t length)
{
	static const char bytes[64];

	if (lseek(WORKER_ANSWER_FD, 0, SEEK_SET) < 0 ||
	    memory_file_write(WORKER_ANSWER_FD, bytes, length) < 0)
		_exit(9);
}

/* The id of the request that came. By recvmsg(2), which the sandbox allows. */
static uint64_t listen_to(void)
{
	static char bytes[WORKER_REQUEST_MAX];
	struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct worker_request_header request;

	if (recvmsg(WORKER_SOCKET_FD, &message, 0) < (ssize_t)sizeof(request))
		_exit(0);
	memcpy(&request, bytes, sizeof(request));
	return request.id;
}

static const struct lie hello = {
	.header = {.magic = WORKER_MAGIC},
	.header_length = sizeof(struct worker_answer_header),
};

/* The truth, but for what a mode changes. */
static struct lie truth(uint64_t id)
{
	struct lie lie = hello;

	lie.header.id = id;
	lie.header.payload_length = 64;
	put_payload(64);
	return lie;
}

static void wrong_magic(struct lie *lie)
{
	lie->header.magic++;
}

static void wrong_id(struct lie *lie)
{
	lie->header.id++;
}

static void wrong_outcome(struct lie *lie)
{
	lie->header.outcome = N_WORKER_OUTCOMES;
}

static void failed_with_payload(struct lie *lie)
{
	lie->header.outcome = WORKER_NOT_ELF;
}

static void short_header(struct lie *lie)
{
	lie->header_length--;
}

static void empty(struct lie *lie)
{
	lie->header_length = 0;
}

static void shorter(struct lie *lie)
{
	lie->header.payload_length++;
}

static void huge(struct lie *lie)
{
	lie->header.payload_length = (uint64_t)WORKER_ANSWER_MAX + 1;
}

static void endless(struct lie *lie)
{
	lie->header.payload_length = UINT64_MAX;
}

/* Sealed, it could not be emptied for the next answer. */
static void sealed_empty(struct lie *lie)
{
	(void)lie;
	if (ftruncate(WORKER_ANSWER_FD, 0) < 0 ||
	    fcntl(WORKER_ANSWER_FD, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0)
		_exit(9);
}

static void with_a_file(struct lie *lie)
{
	lie->fds[lie->n_fds++] = WORKER_ANSWER_FD;
}

static void with_eight_files(struct lie *lie)
{
	while (lie->n_fds < ARRAY_SIZE(lie->fds))
		with_a_file(lie);
}

/* Changes one thing in an answer, and sends it. */
static const struct {
	const char *mode;
	void (*change)(struct lie *lie);
} changes[] = {
	{"wrong-magic", wrong_magic},
	{"wrong-id", wrong_id},
	{"wrong-outcome", wrong_outcome},
	{"failed-with-payload", failed_with_payload},
	{"short-header", short_header},
	{"empty", empty},
	{"shorter", shorter},
	{"huge", huge},
	{"endless", endless},
	{"sealed-empty", sealed_empty},
	{"with-a-file", with_a_file},
	{"with-eight-files", with_eight_files},
};

/* A child that keeps the socket open when its parent is gone, until the client lets go. */
static void die_with_heir(void)
{
	struct pollfd leash = {.fd = WORKER_LEASH_FD, .events = POLLIN};

	if (fork() == 0)
		poll(&leash, 1, 60000);
	_exit(0);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The modes that are more than one wrong answer. True: it was one of these. */
static bool misbehave(const char *mode)
{
	struct lie lie;

	if (strcmp(mode, "dies-at-once") == 0)
		_exit(7);
	if (strcmp(mode, "never-comes-up") == 0)
		for (;;)
			pause();
	if (strcmp(mode, "babbles") == 0) {
		lie = truth(1);
		say(&lie);
		pause();
	}
	if (strcmp(mode, "spins-sandboxed") == 0) {
		if (sandbox_enter(UINT64_C(1) << 30) < 0)
			_exit(WORKER_EXIT_SANDBOX);
		say(&hello);
		listen_to();
		for (;;)
			;
	}
	say(&hello);
	if (strcmp(mode, "dies-idle") == 0)
		_exit(7);
	if (strcmp(mode, "floods") == 0)
		for (;;)
			say(&hello);
	if (strcmp(mode, "honest") == 0)
		for (;;) {
			lie = truth(listen_to());
			say(&lie);
		}
	lie = truth(listen_to());
	if (strcmp(mode, "dies-reading") == 0)
		abort();
	if (strcmp(mode, "never-answers") == 0)
		pause();
	if (strcmp(mode, "thinks") == 0) {
		uint64_t until_ns = cpu_ns() + 300000000;

		while (cpu_ns() < until_ns)
			;
		say(&lie);
		pause();
	}
	if (strcmp(mode, "leaves-heir") == 0)
		die_with_heir();
	if (strcmp(mode, "hangs-up") == 0) {
		close(WORKER_SOCKET_FD);
		pause();
	}
	if (strcmp(mode, "twice") == 0) {
		say(&lie);
		say(&lie);
		pause();
	}
	if (strcmp(mode, "last") == 0) {
		lie.header.is_last = 1;
		say(&lie);
		pause();
	}
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		if (strcmp(mode, changes[i].mode) == 0) {
			changes[i].change(&lie);
			say(&lie);
			pause();
		}
	return false;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 0 ? strchr(argv[0], ' ') : NULL;

	alarm(60); /* whatever becomes of the test */
	if (!mode || !misbehave(mode + 1)) {
		fprintf(stderr, "hostile_worker: \"%s\" is no mode\n", mode ? mode + 1 : "");
		return 9;
	}
	return 0;
}
