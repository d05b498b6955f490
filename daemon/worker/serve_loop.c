/* SPDX-License-Identifier: MIT */
#include "daemon/worker/serve_loop.h"

#include <errno.h>
#include <malloc.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"

/* Returns FD_PACKET_E_OK, _END or negative errno. */
static int serve_send_answer(int socket, uint64_t id, const struct answer *answer, bool is_last)
{
	struct worker_answer_header header = {
		.magic = WORKER_MAGIC,
		.outcome = answer->outcome,
		.id = id,
		.is_last = is_last,
	};
	cleanup(closep) int memfd = -1;

	if (answer->length > WORKER_ANSWER_MAX) {
		header.outcome = WORKER_NO_MEMORY;
	} else if (answer->length > 0) {
		memfd = memory_file_of("profd-answer", answer->data, answer->length);
		if (memfd < 0)
			header.outcome = WORKER_NO_MEMORY;
		else
			header.payload_length = answer->length;
	}
	return fd_packet_send(socket, &header, sizeof(header), &memfd, memfd >= 0, 0);
}

/* What was freed within the heap, but cannot go back to the kernel, counts as well. */
static uint64_t heap_held_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return (uint64_t)heap.arena + heap.hblkhd;
}

int serve_loop(struct cache *cache, int socket, const struct serve_limits *limits)
{
	cleanup(freep) uint8_t *data = malloc(WORKER_REQUEST_MAX);
	struct answer answer = {.outcome = WORKER_DONE};
	bool is_last = false;
	int r;

	if (!data)
		return error_origin(-ENOMEM);
	r = serve_send_answer(socket, 0, &answer, false);
	while (!r && !is_last) {
		cleanup(fd_packet_deinit) struct fd_packet packet;
		struct request request;

		r = fd_packet_receive(socket, data, WORKER_REQUEST_MAX, 0, &packet);
		if (r)
			break;
		if (request_parse(data, packet.length, packet.fds, packet.n_fds, &request) &&
		    !packet.is_cut)
			server_answer(cache, &request, &answer);
		else
			answer = (struct answer){.outcome = WORKER_BAD_REQUEST};
		fd_packet_deinit(&packet); /* files are closed when the answer arrives */
		is_last = clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= limits->cpu_ns ||
			  heap_held_bytes() > limits->keep_bytes + answer.length;
		r = serve_send_answer(socket, request.header.id, &answer, is_last);
		free(answer.data);
		answer = (struct answer){.outcome = WORKER_DONE};
	}
	return r < 0 ? error_origin(r) : 0;
}
