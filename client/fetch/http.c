/* SPDX-License-Identifier: MIT */
/*
 * A gateway_child that is asked for URLs. Body and PEM files of a request are read here and sent
 * as sealed memory, because the gateway may open nothing of ours; the body of the answer comes
 * back in the same way.
 */
#include "client/fetch/http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "client/fetch/fetcher.h"
#include "client/fetch/gateway_child.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/read_end.h"

#define PEM_MAX  ((size_t)1 << 20)  /* bytes of a file */
#define GRACE_NS (5000 * NS_PER_MS) /* past the timeout, which the gateway should have kept */

_Static_assert(N_HTTP_PARTS <= FD_PACKET_FDS_MAX, "parts of a request");

struct http {
	struct gateway_child gateway;
	uint64_t until_ns, max_bytes; /* of what was asked */
};

#define http_fail(message, ...) \
	(snprintf((message)->text, sizeof((message)->text), __VA_ARGS__), HTTP_E_FAILED)

int http_new(struct http **ret, const char *path)
{
	cleanup(http_freep) struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return error_origin(-ENOMEM);
	r = gateway_child_init(&h->gateway, "--http", &(struct fetcher_options){.path = path});
	if (!r)
		*ret = steal_ptr(&h);
	return r;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	gateway_child_deinit(&h->gateway);
	free(h);
}

/* --- a request -------------------------------------------------------------------------------- */

/* The files of a request: ours. */
struct parts {
	int all[N_HTTP_PARTS];
	size_t n;
	uint32_t bits;
};

static void parts_deinit(struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		close(parts->all[i]);
}

static int http_add_part(struct parts *parts, enum http_part part, const uint8_t *data,
			 size_t length)
{
	int fd = memory_file_of("profd-http", data, length);

	if (fd < 0)
		return error_origin(fd);
	parts->all[parts->n++] = fd;
	parts->bits |= 1u << part;
	return HTTP_E_OK;
}

/* Handed over as memory: who speaks to the server may not read the file. */
static int http_add_file(struct parts *parts, enum http_part part, const char *path,
			 struct http_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	size_t length;
	int r;

	if (!path || !*path)
		return HTTP_E_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	r = fd < 0 ? -errno : read_end(fd, PEM_MAX, &data, &length);
	if (r == -ENOMEM)
		return r;
	if (r)
		return http_fail(message, "%.100s: %s", path, strerrordesc_np(-r));
	return http_add_part(parts, part, data, length);
}

static int http_make_parts(struct parts *parts, const struct http_request *request,
			   struct http_message *message)
{
	int r = HTTP_E_OK;

	if (request->body)
		r = http_add_part(parts, HTTP_PART_BODY, request->body, request->length);
	return r ?:
	       http_add_file(parts, HTTP_PART_CERTIFICATE, request->certificate, message) ?:
	       http_add_file(parts, HTTP_PART_KEY, request->key, message) ?:
	       http_add_file(parts, HTTP_PART_AUTHORITIES, request->authorities, message);
}

int http_send(struct http *h, const struct http_request *request, struct http_message *message)
{
	cleanup(parts_deinit) struct parts parts = {0};
	struct http_request_packet packet = {
		.magic = FETCH_MAGIC,
		.flags = request->is_insecure ? HTTP_FLAG_INSECURE : 0,
		.timeout_ms = request->timeout_ms,
		.max_bytes = request->max_bytes,
	};
	size_t length = strlen(request->url);
	int r;

	if (length > HTTP_URL_MAX)
		return http_fail(message, "the URL is longer than %u bytes", HTTP_URL_MAX);
	memcpy(packet.url, request->url, length);
	packet.length = (uint32_t)length;
	r = http_make_parts(&parts, request, message);
	if (r)
		return r;
	packet.parts = parts.bits;
	r = gateway_child_send(&h->gateway, &packet, sizeof(packet), parts.all, parts.n,
			       message->text);
	if (r)
		return r == FETCHER_E_FAILED ? HTTP_E_FAILED : r;
	h->until_ns = clock_ns(CLOCK_MONOTONIC) + request->timeout_ms * NS_PER_MS + GRACE_NS;
	h->max_bytes = request->max_bytes;
	return HTTP_E_OK;
}

int http_receive(struct http *h, struct http_answer *ret, struct http_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet files;
	struct fetch_answer answer;
	uint64_t max_bytes, length;

	if (gateway_child_receive(&h->gateway, h->until_ns, &answer, &files, message->text))
		return HTTP_E_FAILED;
	if (answer.outcome != FETCH_DONE) {
		memcpy(message->text, answer.text, sizeof(message->text));
		return HTTP_E_FAILED;
	}
	max_bytes = answer.status == 200 || h->max_bytes > HTTP_COMPLAINT_MAX ? h->max_bytes
									      : HTTP_COMPLAINT_MAX;
	if (files.n_fds != 1 || files.is_cut || !memory_file_is_sealed(files.fds[0], &length) ||
	    length > max_bytes || lseek(files.fds[0], 0, SEEK_SET) < 0) {
		(void)!gateway_child_fail(&h->gateway, "sends no body where it should",
					  message->text);
		return HTTP_E_FAILED;
	}
	*ret = (struct http_answer){.status = answer.status, .fd = steal_fd(&files.fds[0])};
	return HTTP_E_OK;
}
