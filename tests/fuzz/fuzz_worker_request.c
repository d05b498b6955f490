/* SPDX-License-Identifier: MIT */
/*
 * Requests to a server, with as many files as the first byte says; all of them are one file. Bit 0:
 * a perf map, and the requests follow each other; else what follows the first request, which is
 * asked twice. So what is kept from one request to the next is used.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/worker/answer.h"
#include "common/worker/code_object.h"
#include "daemon/worker/serve.h"
#include "daemon/worker/sources.h"

#define REQUESTS_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static bool check_functions(const struct request *request, const struct answer *answer)
{
	const uint8_t *at = request->payload, *end = at + request->header.payload_length;
	struct answer_functions functions;
	size_t n = 0, n_offsets = 0;
	struct code_object object;

	for (; code_object_take(&at, end, &object); n++)
		n_offsets += object.n_offsets;
	return answer_functions(answer->data, answer->length, n, n_offsets, &functions);
}

static size_t count_texts(const struct request *request)
{
	size_t n = 0;

	for (uint64_t i = 0; i < request->header.payload_length; i++)
		n += !request->payload[i];
	return n;
}

/* What the client's side makes of it: a worker that is none's must pass its own checks. */
static void check(const struct request *request, const struct answer *answer)
{
	const struct worker_request_header *h = &request->header;
	struct answer_names names;
	struct worker_range range;
	struct worker_container container;
	struct worker_image image;
	struct worker_table table;
	struct answer_code code;
	const uint64_t *words;
	bool ok = true;

	if (answer->outcome != WORKER_DONE) {
		if (answer->data)
			abort();
		return;
	}
	switch (h->kind) {
	case WORKER_INSPECT:
		ok = answer_image(answer->data, answer->length, &image);
		break;
	case WORKER_TABLE:
		ok = answer_table(answer->data, answer->length, h->max_words, &table, &words);
		break;
	case WORKER_SYMBOLS:
	case WORKER_JIT:
		ok = answer_names(answer->data, answer->length, (const void *)request->payload,
				  (size_t)h->payload_length / 8, &names);
		break;
	case WORKER_INSTRUCTIONS:
		memcpy(&range, request->payload, sizeof(range));
		ok = answer_code(answer->data, answer->length, &range, &code);
		break;
	case WORKER_FUNCTIONS:
		ok = check_functions(request, answer);
		break;
	case WORKER_PACKAGE:
		ok = answer_texts(answer->data, answer->length, count_texts(request));
		break;
	case WORKER_CONTAINER:
		ok = answer_container(answer->data, answer->length, &container);
		break;
	}
	if (!ok)
		abort();
}

/* How much of the input is the first request. */
static size_t length_of_first(const uint8_t *data, size_t size)
{
	struct worker_request_header header;
	size_t length = size;

	if (size >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		if (header.payload_length < size - sizeof(header))
			length = sizeof(header) + (size_t)header.payload_length;
	}
	return length < WORKER_REQUEST_MAX ? length : WORKER_REQUEST_MAX;
}

static void serve_one(struct cache *c, int file, size_t n_fds, const uint8_t *data, size_t length)
{
	int fds[N_WORKER_FILES + 1];
	struct request request;
	struct answer answer;
	uint8_t *aligned = malloc(length ? length : 1);

	if (!aligned)
		return;
	memcpy(aligned, data, length);
	for (size_t i = 0; i < N_WORKER_FILES + 1; i++)
		fds[i] = file;
	if (request_parse(aligned, length, fds, n_fds, &request)) {
		server_answer(c, &request, &answer);
		check(&request, &answer);
		free(answer.data);
	}
	free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map[] = "1000 20 first\n1010 8 second\n";
	struct cache *c = NULL;
	size_t n_fds, first;
	bool is_map;
	int file;

	if (size < 1)
		return 0;
	is_map = data[0] & 1;
	n_fds = (data[0] >> 1) % (N_WORKER_FILES + 2);
	data++;
	size--;
	first = length_of_first(data, size);
	file = is_map ? make_file(map, sizeof(map) - 1) : make_file(data + first, size - first);
	if (cache_new(&c, 4096) < 0)
		abort();
	for (unsigned i = 0; i < REQUESTS_MAX && size > 0; i++) {
		serve_one(c, file, n_fds, data, first);
		if (!is_map) {
			serve_one(c, file, n_fds, data, first);
			break;
		}
		data += first;
		size -= first;
		first = length_of_first(data, size);
	}
	cache_free(c);
	close(file);
	return 0;
}
