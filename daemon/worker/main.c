/* SPDX-License-Identifier: MIT */
/*
 * profd-image-worker: reads strangers' files for profd and profctl (common/worker/protocol.h). It
 * enters its sandbox before it reads anything, and leaves by _exit(2): what would run at an
 * ordinary end of a program is not allowed any more.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/units.h"
#include "common/work_can_wait.h"
#include "common/worker/protocol.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/serve.h"
#include "daemon/worker/sources.h"

#define MEMORY_MIN (UINT64_C(8) << 20)
#define KEEP_MIN   (UINT64_C(1) << 20)

/* Of what may be held between requests; the heap has gaps. */
#define CACHE_SHARE 2

/*
 * Large blocks go back to the kernel when they are freed; glibc would otherwise learn from the
 * first ones that are freed to keep them.
 */
#define LARGE_BLOCK (256 << 10)

/* Past one of these, a worker has done enough when it has answered. */
struct serve_limits {
	uint64_t cpu_ns;     /* CPU time that this process has used */
	uint64_t keep_bytes; /* of heap that it still holds */
};

/* @max: bytes that it may have. Returns FD_PACKET_E_OK, _END or negative errno. */
static int serve_send_answer(int socket, uint64_t id, const struct answer *answer, uint64_t max,
			     bool is_last)
{
	struct worker_answer_header header = {
		.magic = WORKER_MAGIC,
		.outcome = answer->outcome,
		.id = id,
		.is_last = is_last,
	};

	if (answer->length > max || lseek(WORKER_ANSWER_FD, 0, SEEK_SET) ||
	    memory_file_write(WORKER_ANSWER_FD, answer->data, answer->length))
		header.outcome = WORKER_NO_MEMORY;
	else
		header.payload_length = answer->length;
	return fd_packet_send(socket, &header, sizeof(header), NULL, 0, 0);
}

/* What was freed within the heap, but cannot go back to the kernel, counts as well. */
static uint64_t heap_held_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return (uint64_t)heap.arena + heap.hblkhd;
}

/*
 * Says that the worker is up, then answers requests on @socket until the other end is closed, or a
 * limit is passed. Returns 0 or negative errno.
 */
static int serve_loop(struct cache *cache, int socket, const struct serve_limits *limits)
{
	cleanup(freep) uint8_t *data = malloc(WORKER_REQUEST_MAX);
	struct answer answer = {.outcome = WORKER_DONE};
	bool is_last = false;
	int r;

	if (!data)
		return error_origin(-ENOMEM);
	r = serve_send_answer(socket, 0, &answer, 0, false);
	while (!r && !is_last) {
		cleanup(fd_packet_deinit) struct fd_packet packet;
		struct request request;

		r = fd_packet_receive(socket, data, WORKER_REQUEST_MAX, 0, &packet);
		if (r)
			break;
		if (request_parse(data, packet.length, packet.fds, packet.n_fds, &request) &&
		    !packet.is_cut) {
			sandbox_allow_memory(request.header.memory_bytes);
			server_answer(cache, &request, &answer);
		} else {
			answer = (struct answer){.outcome = WORKER_BAD_REQUEST};
		}
		fd_packet_deinit(&packet); /* files are closed when the answer arrives */
		is_last = clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= limits->cpu_ns ||
			  heap_held_bytes() > limits->keep_bytes + answer.length;
		r = serve_send_answer(socket, request.header.id, &answer,
				      worker_answer_max(request.header.memory_bytes), is_last);
		free(answer.data);
		answer = (struct answer){.outcome = WORKER_DONE};
	}
	return r < 0 ? error_origin(r) : 0;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/*
 * Signals to the whole unit or terminal are not for us: profd may still need answers when it is
 * told to stop. It ends us by the leash.
 */
static void leave_world(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	work_can_wait();
	(void)!chdir("/");
	umask(077);
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

int main(int argc, char **argv)
{
	struct serve_limits limits = {.cpu_ns = SANDBOX_CPU_ENOUGH_S * NS_PER_S};
	struct cache *cache;
	uint64_t memory;
	int r;

	if (argc != 3 || units_parse_number(argv[1], &memory) || memory < MEMORY_MIN ||
	    units_parse_number(argv[2], &limits.keep_bytes) || limits.keep_bytes < KEEP_MIN ||
	    !is_socket(WORKER_SOCKET_FD) || !is_socket(WORKER_LEASH_FD)) {
		fprintf(stderr,
			"profd-image-worker is not run directly: profd and profctl start it\n");
		return WORKER_EXIT_USAGE;
	}
	leave_world();
	r = cache_new(&cache, (size_t)(limits.keep_bytes / CACHE_SHARE)) ?: sandbox_enter(memory);
	if (r) {
		fprintf(stderr, "profd-image-worker: cannot enter its sandbox: %s\n",
			error_describe(r));
		return WORKER_EXIT_SANDBOX;
	}
	r = serve_loop(cache, WORKER_SOCKET_FD, &limits);
	_exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}
