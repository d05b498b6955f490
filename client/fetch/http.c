/* SPDX-License-Identifier: MIT */
#include "client/fetch/http.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "client/fetch/fetch_packet.h"
#include "client/fetch/fetcher.h"
#include "client/fetch/fetcher_process.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/program_path.h"
#include "common/read_end.h"
#include "common/utf8.h"

#define PEM_MAX     ((size_t)1 << 20) /* bytes of a file */
#define GRACE_MS    5000              /* past the timeout, which the gateway should have kept */
#define SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define POLL_MAX_MS 3600000

_Static_assert(N_HTTP_PARTS <= FETCH_PACKET_FDS_MAX, "parts of a request");

struct http {
	char *path;
	struct fetcher_process process;
	bool is_asked;
	uint64_t until_ms, max_bytes; /* of what was asked */
};

static int http_fail(struct http_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int http_fail(struct http_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return HTTP_E_FAILED;
}

int http_new(struct http **ret, const char *path)
{
	cleanup(http_freep) struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return error_origin(-ENOMEM);
	h->process.socket = -1;
	if (path) {
		h->path = strdup(path);
		r = h->path ? 0 : error_origin(-ENOMEM);
	} else {
		r = program_path("PROFD_GATEWAY", "profd-gateway", &h->path);
	}
	if (r)
		return r;
	*ret = steal_ptr(&h);
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	(void)!fetcher_process_end(&h->process);
	free(h->path);
	free(h);
}

static uint64_t http_now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / NS_PER_MS;
}

/* It ended, or is no use any more. */
static int http_give_up(struct http *h, const char *what, struct http_message *message)
{
	int status = fetcher_process_end(&h->process);

	h->is_asked = false;
	if (status != -1 && WIFSIGNALED(status))
		return http_fail(message, "profd-gateway was killed by signal %d",
				 WTERMSIG(status));
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status))
		return http_fail(message, "profd-gateway ended with status %d",
				 WEXITSTATUS(status));
	return http_fail(message, "profd-gateway %s", what);
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
	cleanup(closep) int fd = memfd_create("profd-http", MFD_CLOEXEC);

	if (fd < 0)
		return error_origin(-errno);
	for (size_t at = 0; at < length;) {
		ssize_t n = write(fd, data + at, length - at);

		if (n < 0 && errno != EINTR)
			return error_origin(-errno);
		at += n > 0 ? (size_t)n : 0;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_origin(-errno);
	parts->all[parts->n++] = steal_fd(&fd);
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
	if (!r)
		r = http_add_file(parts, HTTP_PART_CERTIFICATE, request->certificate, message);
	if (!r)
		r = http_add_file(parts, HTTP_PART_KEY, request->key, message);
	return r ? r : http_add_file(parts, HTTP_PART_AUTHORITIES, request->authorities, message);
}

static int http_start_gateway(struct http *h, struct http_message *message)
{
	const struct fetcher_options options = {0};
	int r = fetcher_process_start(&h->process, h->path, "--http", &options);

	if (r == -ENOMEM)
		return error_origin(r);
	return r ? http_fail(message, "cannot start %.150s: %s", h->path, strerrordesc_np(-r))
		 : HTTP_E_OK;
}

int http_send(struct http *h, const struct http_request *request, struct http_message *message)
{
	cleanup(parts_deinit) struct parts parts = {0};
	struct http_request_packet packet = {
		.magic = HTTP_MAGIC,
		.flags = request->is_insecure ? HTTP_FLAG_INSECURE : 0,
		.timeout_ms = request->timeout_ms,
		.max_bytes = request->max_bytes,
	};
	size_t length = strlen(request->url);
	int r;

	if (h->is_asked)
		return error_origin(-EBUSY);
	if (length > HTTP_URL_MAX)
		return http_fail(message, "the URL is longer than %u bytes", HTTP_URL_MAX);
	memcpy(packet.url, request->url, length);
	packet.length = (uint32_t)length;
	r = http_make_parts(&parts, request, message);
	if (r)
		return r;
	packet.parts = parts.bits;
	/* One that ended since the last answer is replaced, once. */
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		r = h->process.pid ? HTTP_E_OK : http_start_gateway(h, message);
		if (r)
			return r;
		if (!fetch_packet_send(h->process.socket, &packet, sizeof(packet), parts.all,
				       parts.n, MSG_DONTWAIT)) {
			h->is_asked = true;
			h->until_ms = http_now_ms() + request->timeout_ms + GRACE_MS;
			h->max_bytes = request->max_bytes;
			return HTTP_E_OK;
		}
		r = http_give_up(h, "does not take a request", message);
	}
	return r;
}

/* --- its answer ------------------------------------------------------------------------------- */

/* Whether there is something to receive in time. */
static bool http_wait_answer(const struct http *h)
{
	struct pollfd fd = {.fd = h->process.socket, .events = POLLIN};
	uint64_t now;
	int r = 0;

	while (r <= 0 && (now = http_now_ms()) < h->until_ms) {
		uint64_t left = h->until_ms - now;

		r = poll(&fd, 1, left < POLL_MAX_MS ? (int)left : POLL_MAX_MS);
		if (r < 0 && errno != EINTR)
			return false;
	}
	return r > 0;
}

/* Nobody can change it any more, nor make it shorter. */
static bool is_body(int fd, uint64_t max_bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size <= max_bytes &&
	       lseek(fd, 0, SEEK_SET) == 0;
}

/* What servers say is nothing for somebody's terminal. */
static void http_copy_error_text(struct http_answer_packet *answer, struct http_message *message)
{
	answer->text[sizeof(answer->text) - 1] = '\0';
	utf8_make_harmless(answer->text);
	memcpy(message->text, answer->text, sizeof(message->text));
}

int http_receive(struct http *h, struct http_answer *ret, struct http_message *message)
{
	cleanup(fetch_packet_fds_deinit) struct fetch_packet_fds fds = {0};
	struct http_answer_packet answer;
	uint64_t max_bytes;
	ssize_t n;

	if (!h->is_asked)
		return http_fail(message, "nothing was asked");
	if (!http_wait_answer(h))
		return http_give_up(h, "does not answer", message);
	n = fetch_packet_receive(h->process.socket, &answer, sizeof(answer), &fds);
	if (n <= 0)
		return http_give_up(h, "ended without an answer", message);
	if (n != sizeof(answer) || answer.magic != HTTP_MAGIC ||
	    answer.outcome >= N_HTTP_ANSWER_OUTCOMES)
		return http_give_up(h, "answers what nobody understands", message);
	h->is_asked = false;
	if (answer.outcome == HTTP_ANSWER_FAILED) {
		http_copy_error_text(&answer, message);
		return HTTP_E_FAILED;
	}
	max_bytes = answer.status == 200 || h->max_bytes > HTTP_COMPLAINT_MAX ? h->max_bytes
									      : HTTP_COMPLAINT_MAX;
	if (fds.n != 1 || fds.n_more || !is_body(fds.all[0], max_bytes))
		return http_give_up(h, "sends no body where it should", message);
	*ret = (struct http_answer){.status = answer.status, .fd = steal_fd(&fds.all[0])};
	return HTTP_E_OK;
}
