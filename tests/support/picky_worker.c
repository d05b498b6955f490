/* SPDX-License-Identifier: MIT */
/*
 * picky_worker: an image worker without a sandbox that answers like the real one, but for files
 * (images, or such as name generated code) that end with "picky:" and a letter, and code objects
 * whose names begin so:
 *
 *   d  it dies when it is asked for names       h  it hangs then
 *   i  it dies when it inspects it              l  it lies then: locations that are out of bounds
 *   w  it names every address "wrong", in ranges that overlap
 *   f  it finds at addresses that divided by 4 leave 0: a function inlined in another, with files
 *      and lines; 1: a function with them; 2: one without; 3: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/worker/code_object.h"
#include "daemon/worker/answer_builder.h"
#include "daemon/worker/serve.h"
#include "daemon/worker/sources.h"

#define MARK "picky:"

static void send_header(const struct worker_answer_header *header)
{
	if (fd_packet_send(WORKER_SOCKET_FD, header, sizeof(*header), NULL, 0, 0))
		_exit(9);
}

static void answer(uint64_t id, const struct answer *a)
{
	struct worker_answer_header header = {
		.magic = WORKER_MAGIC,
		.outcome = a->outcome,
		.id = id,
		.payload_length = a->length,
	};

	if (lseek(WORKER_ANSWER_FD, 0, SEEK_SET) ||
	    memory_file_write(WORKER_ANSWER_FD, a->data, a->length))
		_exit(9);
	send_header(&header);
}

static char mark_of(int fd)
{
	char end[sizeof(MARK)];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(end) ||
	    pread(fd, end, sizeof(end), st.st_size - (off_t)sizeof(end)) != (ssize_t)sizeof(end) ||
	    memcmp(end, MARK, strlen(MARK)) != 0)
		return 0;
	return end[strlen(MARK)];
}

static char mark_of_code(const struct request *request)
{
	const uint8_t *at = request->payload, *end = at + request->header.payload_length;
	struct code_object object;
	const struct runtime_text *name = &object.code.name;

	while (code_object_take(&at, end, &object))
		if (name->n_bytes > strlen(MARK) && !memcmp(name->bytes, MARK, strlen(MARK)))
			return (char)name->bytes[strlen(MARK)];
	return 0;
}

typedef int name_one(struct answer_builder *b, uint64_t address);

/* A range that reaches over its neighbours'. */
static int name_wrongly(struct answer_builder *b, uint64_t address)
{
	const struct frame_name frame = {.system_name = "wrong"};

	return answer_builder_add(b, address - 8, 17, WORKER_SOURCE_SYMTAB, &frame, 1);
}

static int name_by_address(struct answer_builder *b, uint64_t address)
{
	const struct frame_name with[] = {
		{.system_name = "_Z7inlinedv", .file = "/src/a.h", .line = 12, .start_line = 10},
		{.system_name = "_Z5outerv", .file = "/src/a.c", .line = 34, .start_line = 30},
	};
	const struct frame_name without = {.system_name = "bare"};

	switch (address % 4) {
	case 0:
		return answer_builder_add(b, address, 1, WORKER_SOURCE_DWARF, with, 2);
	case 1:
		return answer_builder_add(b, address, 1, WORKER_SOURCE_DWARF, with + 1, 1);
	case 2:
		return answer_builder_add(b, address, 1, WORKER_SOURCE_SYMTAB, &without, 1);
	default:
		return answer_builder_add(b, address, 1, WORKER_SOURCE_NONE, NULL, 0);
	}
}

static void name_all(const struct request *request, name_one *name, struct answer *ret)
{
	const uint64_t *addresses = (const void *)request->payload;
	struct answer_builder *b = NULL;

	if (answer_builder_new(&b) < 0)
		_exit(9);
	for (size_t i = 0; i < request->header.payload_length / sizeof(uint64_t); i++)
		if (name(b, addresses[i]) < 0)
			_exit(9);
	if (answer_builder_finish(b, ANSWER_NAMES, &ret->data, &ret->length) < 0)
		_exit(9);
	answer_builder_free(b);
}

static void serve(struct cache *cache, const struct request *request, struct answer *ret)
{
	bool is_jit = request->header.kind == WORKER_JIT;
	bool is_code = request->header.kind == WORKER_FUNCTIONS;
	bool is_symbols = request->header.kind == WORKER_SYMBOLS || is_jit || is_code;
	bool is_jitdump = request->files[WORKER_FILE_JITDUMP] >= 0;
	char mark = is_code ? mark_of_code(request)
			    : mark_of(request->files[!is_jit      ? WORKER_FILE_IMAGE
						     : is_jitdump ? WORKER_FILE_JITDUMP
								  : WORKER_FILE_PERF_MAP]);

	if ((mark == 'd' && is_symbols) || (mark == 'i' && request->header.kind == WORKER_INSPECT))
		abort();
	if (mark == 'h' && is_symbols)
		for (;;)
			pause();
	*ret = (struct answer){.outcome = WORKER_DONE};
	if (mark == 'w' && is_symbols)
		name_all(request, name_wrongly, ret);
	else if (mark == 'f' && is_symbols)
		name_all(request, name_by_address, ret);
	else
		server_answer(cache, request, ret);
	if (mark == 'l' && is_code && ret->length)
		((struct worker_functions *)(void *)ret->data)->n_lines++;
	else if (mark == 'l' && is_symbols && ret->length)
		((struct worker_names *)(void *)ret->data)->n_frames ^= UINT32_MAX;
}

int main(void)
{
	const struct worker_answer_header hello = {.magic = WORKER_MAGIC};
	uint8_t *data = malloc(WORKER_REQUEST_MAX);
	struct cache *cache = NULL;
	struct fd_packet packet;

	alarm(60); /* whatever becomes of the test */
	if (!data || cache_new(&cache, 64 << 20) < 0)
		return 9;
	send_header(&hello);
	while (!fd_packet_receive(WORKER_SOCKET_FD, data, WORKER_REQUEST_MAX, 0, &packet)) {
		struct answer a = {.outcome = WORKER_BAD_REQUEST};
		struct request request;

		if (request_parse(data, packet.length, packet.fds, packet.n_fds, &request))
			serve(cache, &request, &a);
		answer(request.header.id, &a);
		free(a.data);
		fd_packet_deinit(&packet);
	}
	cache_free(cache);
	free(data);
	return 0;
}
