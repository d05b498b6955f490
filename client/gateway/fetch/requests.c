/* SPDX-License-Identifier: MIT */
/*
 * One request at a time; when the other end of the socket is closed, the process exits, in the
 * middle of a transfer as well. An answer's body is written into memory that is sealed when it is
 * whole. Nothing but HTTP is spoken, wherever a server redirects to, and everything that a server
 * can send has a bound: the header, the body, redirections, time.
 */
#include "client/gateway/fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <curl/curl.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"

#define HEADER_MAX       ((size_t)256 << 10) /* bytes, those of redirections among them */
#define REDIRECTIONS_MAX 10L
#define PROTOCOLS        "http,https"

struct transfer {
	CURL *easy;
	int body;
	uint64_t length, max_bytes;
	size_t header_length;
	bool is_too_large, has_too_much_header;
	char trouble[CURL_ERROR_SIZE];
};

static void transfer_deinit(struct transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	closep(&t->body);
}

/* --- what comes ------------------------------------------------------------------------------- */

static bool transfer_is_success(const struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status == 200;
}

/* libcurl's: returns how much of it was taken; less ends the transfer. */
static size_t transfer_on_body(char *data, size_t size, size_t n, void *context)
{
	struct transfer *t = context;
	size_t length = size * n, taken = length;

	if (!transfer_is_success(t)) {
		uint64_t left = HTTP_COMPLAINT_MAX - t->length;

		taken = length < left ? length : (size_t)left; /* the rest is not kept */
	} else if (length > t->max_bytes - t->length) {
		t->is_too_large = true;
		return 0;
	}
	if (memory_file_write(t->body, data, taken))
		return 0;
	t->length += taken;
	return length;
}

static size_t transfer_on_header(char *data, size_t size, size_t n, void *context)
{
	struct transfer *t = context;

	(void)data;
	t->header_length += size * n;
	t->has_too_much_header = t->header_length > HEADER_MAX;
	return t->has_too_much_header ? 0 : size * n;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* As Go's programs have it, too: what runs here is not asked for through a proxy. */
static bool is_loopback_url(const char *url)
{
	CURLU *parts = curl_url();
	char *host = NULL;
	bool here = false;

	if (parts && !curl_url_set(parts, CURLUPART_URL, url, 0) &&
	    !curl_url_get(parts, CURLUPART_HOST, &host, 0))
		here = strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
		       strcmp(host, "[::1]") == 0;
	curl_free(host);
	curl_url_cleanup(parts);
	return here;
}

/* Of a file that we hold, which may be nobody's here to open by another name. Empty: none. */
static CURLcode curl_set_file(CURL *easy, CURLoption option, int fd)
{
	char path[32];

	if (lseek(fd, 0, SEEK_END) == 0)
		return CURLE_OK;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return curl_easy_setopt(easy, option, path);
}

static CURLcode curl_set_body(CURL *easy, int fd, struct curl_slist *headers)
{
	off_t length = lseek(fd, 0, SEEK_END);
	void *body;
	CURLcode r;

	if (length < 0)
		return CURLE_READ_ERROR;
	body = length ? mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (body == MAP_FAILED)
		return CURLE_OUT_OF_MEMORY;
	r = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length) ?:
	    curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body ? body : "") ?:
	    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (body)
		munmap(body, (size_t)length);
	return r;
}

/* One that uses no other protocol than HTTP. */
static CURLcode curl_set_rules(CURL *easy, const struct http_request_packet *request)
{
	const long check = request->flags & HTTP_FLAG_INSECURE ? 0 : 2;

	return curl_easy_setopt(easy, CURLOPT_URL, request->url) ?:
	       curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS) ?:
	       curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, PROTOCOLS) ?:
	       curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L) ?:
	       curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTIONS_MAX) ?:
	       curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) ?:
	       curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms) ?:
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, check ? 1L : 0L) ?:
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, check) ?:
	       curl_easy_setopt(easy, CURLOPT_USERAGENT, "profctl/" PROFD_VERSION) ?:
	       curl_easy_setopt(easy, CURLOPT_NOPROXY,
				is_loopback_url(request->url) ? "*" : NULL);
}

static CURLcode transfer_prepare(struct transfer *t, const struct http_request_packet *request,
				 const int parts[N_HTTP_PARTS], struct curl_slist *headers)
{
	bool is_post = request->flags & HTTP_FLAG_POST;
	CURL *easy = t->easy;

	return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->trouble) ?:
	       curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body) ?:
	       curl_easy_setopt(easy, CURLOPT_WRITEDATA, t) ?:
	       curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header) ?:
	       curl_easy_setopt(easy, CURLOPT_HEADERDATA, t) ?:
	       curl_set_rules(easy, request) ?:
	       (is_post ? curl_set_body(easy, parts[HTTP_PART_BODY], headers) : CURLE_OK) ?:
	       curl_set_file(easy, CURLOPT_SSLCERT, parts[HTTP_PART_CERTIFICATE]) ?:
	       curl_set_file(easy, CURLOPT_SSLKEY, parts[HTTP_PART_KEY]) ?:
	       curl_set_file(easy, CURLOPT_CAINFO, parts[HTTP_PART_AUTHORITIES]);
}

/* --- one request ------------------------------------------------------------------------------ */

/* What libcurl returns, for people. */
static void http_answer_fail_curl(const struct transfer *t, CURLcode r, struct fetch_answer *answer)
{
	long error = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &error);
	if (t->is_too_large)
		fetch_answer_set(answer, FETCH_FAILED, "the server sends more than %llu MiB",
				 (unsigned long long)t->max_bytes >> 20);
	else if (t->has_too_much_header)
		fetch_answer_set(answer, FETCH_FAILED,
				 "the header of the server's answer is larger than %zu KiB",
				 HEADER_MAX >> 10);
	else if (r == CURLE_COULDNT_CONNECT && error)
		fetch_answer_set(answer, FETCH_FAILED, "%s",
				 strerrordesc_np((int)error) ? strerrordesc_np((int)error)
							     : "cannot connect");
	else
		fetch_answer_set(answer, FETCH_FAILED, "%s",
				 *t->trouble ? t->trouble : curl_easy_strerror(r));
}

/* Returns 0 with @answer filled, or negative errno. */
static int transfer_perform(struct transfer *t, const struct http_request_packet *request,
			    const int parts[N_HTTP_PARTS], struct fetch_answer *answer)
{
	/* Nobody here waits for "100 Continue"; Go's servers read a form before the handler does.
	 */
	static struct curl_slist expect = {.data = (char *)(uintptr_t) "Expect:"};
	static struct curl_slist type = {
		.data = (char *)(uintptr_t) "Content-Type: application/octet-stream",
		.next = &expect};
	CURLcode r = transfer_prepare(t, request, parts, &type) ?: curl_easy_perform(t->easy);
	long status = 0;

	if (r) {
		http_answer_fail_curl(t, r, answer);
		return 0;
	}
	if (fcntl(t->body, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0)
		return error_origin(-errno);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (uint32_t)status;
	return 0;
}

/* Returns 0, 1: the other end is closed, or negative errno. */
static int requests_answer(int socket, const struct http_request_packet *request,
			   const int parts[N_HTTP_PARTS])
{
	struct fetch_answer answer = {.magic = FETCH_MAGIC};
	cleanup(transfer_deinit) struct transfer t = {
		.easy = curl_easy_init(),
		.body = memory_file_new("profd-http"),
		.max_bytes = request->max_bytes,
	};
	int r;

	if (!t.easy || t.body < 0)
		return error_origin(-ENOMEM);
	r = transfer_perform(&t, request, parts, &answer);
	if (r)
		return r;
	r = fd_packet_send(socket, &answer, sizeof(answer), &t.body, answer.outcome == FETCH_DONE,
			   0);
	return r < 0 ? error_origin(r) : r;
}

static int requests_serve_one(int socket)
{
	cleanup(fd_packet_deinit) struct fd_packet packet;
	struct http_request_packet request;
	int r;

	r = fd_packet_receive(socket, &request, sizeof(request), 0, &packet);
	if (r)
		return r < 0 ? error_origin(r) : r;
	if (packet.length != sizeof(request) || request.magic != FETCH_MAGIC || !request.length ||
	    request.length > HTTP_URL_MAX || request.url[request.length] ||
	    request.timeout_ms > INT32_MAX || packet.n_fds != N_HTTP_PARTS || packet.is_cut)
		return error_origin(-EPROTO);
	return requests_answer(socket, &request, packet.fds);
}

/* A thread: a transfer may take long after nobody waits for it any more. */
static void *requests_watch(void *socket)
{
	struct pollfd other_end = {.fd = (int)(intptr_t)socket, .events = POLLRDHUP};

	while (poll(&other_end, 1, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

int requests_serve(int socket)
{
	pthread_t watcher;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return error_origin(-ENOMEM);
	r = pthread_create(&watcher, NULL, requests_watch, (void *)(intptr_t)socket);
	if (r)
		return error_origin(-r);
	(void)pthread_detach(watcher);
	while (!r)
		r = requests_serve_one(socket);
	return r < 0 ? r : 0;
}
