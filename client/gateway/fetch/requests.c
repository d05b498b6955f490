/* SPDX-License-Identifier: MIT */
/*
 * One request at a time; when the other end of the socket is closed, the process exits, in the
 * middle of a transfer as well. An answer's body is written into memory that is sealed when it is
 * whole. Nothing but HTTP is spoken, wherever a server redirects to, and everything that a server
 * can send has a bound: the header, the body, redirections, time.
 *
 * Deliveries, of which there are many to one server, share its connection: to read who vouches for
 * it, and to shake hands, takes ten times as long as a request. But none is sent twice by itself.
 */
#include "client/gateway/fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
	CURL *easy; /* borrowed */
	/* What is posted: mapped, and how much of it libcurl has taken. */
	const uint8_t *posted;
	size_t posted_length, n_posted;
	int body; /* of the answer */
	uint64_t length, max_bytes;
	size_t header_length;
	struct curl_slist *headers; /* that are sent */
	bool is_delivery, is_too_large, has_too_much_header, has_header;
	char trouble[CURL_ERROR_SIZE];
};

static void transfer_deinit(struct transfer *t)
{
	curl_easy_reset(t->easy); /* but for its connections */
	curl_slist_free_all(t->headers);
	if (t->posted)
		munmap((void *)(uintptr_t)t->posted, t->posted_length);
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

	if (t->is_delivery || !transfer_is_success(t)) {
		uint64_t left = (t->is_delivery ? t->max_bytes : HTTP_COMPLAINT_MAX) - t->length;

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

/* A line at a time: the last one of a header is empty. What libcurl calls done may end before that.
 */
static size_t transfer_on_header(char *data, size_t size, size_t n, void *context)
{
	const size_t length = size * n;
	struct transfer *t = context;

	if (length > 5 && memcmp(data, "HTTP/", 5) == 0)
		t->has_header = false;
	else if (length && (*data == '\r' || *data == '\n'))
		t->has_header = true;
	t->header_length += length;
	t->has_too_much_header = t->header_length > HEADER_MAX;
	return t->has_too_much_header ? 0 : length;
}

/* --- what is sent ----------------------------------------------------------------------------- */

static size_t transfer_on_post(char *to, size_t size, size_t n, void *context)
{
	struct transfer *t = context;
	size_t left = t->posted_length - t->n_posted, taken = size * n < left ? size * n : left;

	if (taken)
		memcpy(to, t->posted + t->n_posted, taken);
	t->n_posted += taken;
	return taken;
}

/*
 * From its beginning once more: where a redirection leads to. libcurl would also send over a new
 * connection what had no answer over one that was kept, and was done, maybe: a delivery fails.
 */
static int transfer_on_rewind(void *context, curl_off_t offset, int origin)
{
	struct transfer *t = context;

	if (t->is_delivery || offset || origin != SEEK_SET)
		return CURL_SEEKFUNC_FAIL;
	t->n_posted = 0;
	return CURL_SEEKFUNC_OK;
}

static CURLcode transfer_set_body(struct transfer *t, int fd)
{
	off_t length = lseek(fd, 0, SEEK_END);
	void *body;

	if (length < 0)
		return CURLE_READ_ERROR;
	body = length ? mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (body == MAP_FAILED)
		return CURLE_OUT_OF_MEMORY;
	t->posted = body;
	t->posted_length = (size_t)length;
	return curl_easy_setopt(t->easy, CURLOPT_POST, 1L) ?:
	       curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length) ?:
	       curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, transfer_on_post) ?:
	       curl_easy_setopt(t->easy, CURLOPT_READDATA, t) ?:
	       curl_easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, transfer_on_rewind) ?:
	       curl_easy_setopt(t->easy, CURLOPT_SEEKDATA, t);
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

static int transfer_add_header(struct transfer *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns 0 or negative errno. */
static int transfer_add_header(struct transfer *t, const char *format, ...)
{
	cleanup(freep) char *header = NULL;
	struct curl_slist *longer;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&header, format, args);
	va_end(args);
	if (n < 0) {
		header = NULL;
		return error_origin(-ENOMEM);
	}
	longer = curl_slist_append(t->headers, header);
	if (!longer)
		return error_origin(-ENOMEM);
	t->headers = longer;
	return 0;
}

/* Those that the user gave. Returns 0 or negative errno. */
static int transfer_add_headers(struct transfer *t, int fd)
{
	cleanup(freep) char *text = calloc(1, HTTP_HEADERS_MAX + 1);
	struct http_headers headers = {.rest = text};
	const char *header;
	size_t length;
	int r = 0;

	if (!text)
		return error_origin(-ENOMEM);
	if (pread(fd, text, HTTP_HEADERS_MAX, 0) < 0)
		return error_origin(-errno);
	while (!r && http_headers_next(&headers, &header, &length))
		r = transfer_add_header(t, "%.*s", (int)length, header);
	return r || !headers.trouble ? r : error_origin(-EPROTO);
}

static int transfer_make_headers(struct transfer *t, const struct http_request_packet *request,
				 int fd)
{
	bool is_post = request->flags & HTTP_FLAG_POST;
	const char *type = request->content_type;
	int r = 0;

	/* Nobody here waits for "100 Continue"; Go's servers read a form before the handler does.
	 */
	if (is_post)
		r = transfer_add_header(t, "Expect:")
			    ?: transfer_add_header(t, "Content-Type: %s",
						   *type ? type : "application/octet-stream");
	if (!r && is_post && *request->content_encoding)
		r = transfer_add_header(t, "Content-Encoding: %s", request->content_encoding);
	return r ?: transfer_add_headers(t, fd);
}

/* One that uses no other protocol than HTTP. */
static CURLcode curl_set_rules(CURL *easy, const struct http_request_packet *request)
{
	const long check = request->flags & HTTP_FLAG_INSECURE ? 0 : 2;
	const long is_other = request->flags & HTTP_FLAG_DELIVERY ? 0 : 1;

	return curl_easy_setopt(easy, CURLOPT_URL, request->url) ?:
	       curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS) ?:
	       curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, PROTOCOLS) ?:
	       curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, is_other) ?:
	       curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, is_other) ?:
	       curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, is_other) ?:
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
				 const int parts[N_HTTP_PARTS])
{
	bool is_post = request->flags & HTTP_FLAG_POST;
	CURL *easy = t->easy;

	return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->trouble) ?:
	       curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body) ?:
	       curl_easy_setopt(easy, CURLOPT_WRITEDATA, t) ?:
	       curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header) ?:
	       curl_easy_setopt(easy, CURLOPT_HEADERDATA, t) ?:
	       curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers) ?:
	       curl_set_rules(easy, request) ?:
	       (*request->content_encoding
			? curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, request->content_encoding)
			: CURLE_OK) ?:
	       (is_post ? transfer_set_body(t, parts[HTTP_PART_BODY]) : CURLE_OK) ?:
	       curl_set_file(easy, CURLOPT_SSLCERT, parts[HTTP_PART_CERTIFICATE]) ?:
	       curl_set_file(easy, CURLOPT_SSLKEY, parts[HTTP_PART_KEY]) ?:
	       curl_set_file(easy, CURLOPT_CAINFO, parts[HTTP_PART_AUTHORITIES]);
}

/* --- one request ------------------------------------------------------------------------------ */

/* Whether the server cannot have got all of it: a request that ends early is none. */
static bool transfer_is_unsent(const struct transfer *t)
{
	long header = 0;

	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &header);
	return !header || t->n_posted < t->posted_length;
}

/* What libcurl returns, for people; CURLE_OK is an answer that is none. */
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
	else if (!r)
		fetch_answer_set(answer, FETCH_FAILED, "the server's answer ends in its header");
	else if (r == CURLE_COULDNT_CONNECT && error)
		fetch_answer_set(answer, FETCH_FAILED, "%s",
				 strerrordesc_np((int)error) ? strerrordesc_np((int)error)
							     : "cannot connect");
	else
		fetch_answer_set(answer, FETCH_FAILED, "%s",
				 *t->trouble ? t->trouble : curl_easy_strerror(r));
}

/* Seconds or a date: libcurl reads both. What is not ahead is none. */
static uint32_t transfer_retry_after(const struct transfer *t)
{
	curl_off_t seconds = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
	return seconds <= 0 ? 0 : seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}

/* Returns 0 with @answer filled, or negative errno. */
static int transfer_perform(struct transfer *t, const struct http_request_packet *request,
			    const int parts[N_HTTP_PARTS], struct fetch_answer *answer)
{
	CURLcode r = transfer_prepare(t, request, parts) ?: curl_easy_perform(t->easy);
	long status = 0;

	if (r || !t->has_header) {
		http_answer_fail_curl(t, r, answer);
		answer->is_unsent = transfer_is_unsent(t);
		return 0;
	}
	if (fcntl(t->body, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0)
		return error_origin(-errno);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (uint32_t)status;
	answer->retry_after_s = transfer_retry_after(t);
	return 0;
}

/* Returns 0, 1: the other end is closed, or negative errno. */
static int requests_answer(int socket, CURL *easy, const struct http_request_packet *request,
			   const int parts[N_HTTP_PARTS])
{
	struct fetch_answer answer = {.magic = FETCH_MAGIC};
	cleanup(transfer_deinit) struct transfer t = {
		.easy = easy,
		.body = memory_file_new("profd-http"),
		.max_bytes = request->max_bytes,
		.is_delivery = request->flags & HTTP_FLAG_DELIVERY,
	};
	int r;

	if (t.body < 0)
		return error_origin(-ENOMEM);
	r = transfer_make_headers(&t, request, parts[HTTP_PART_HEADERS])
		    ?: transfer_perform(&t, request, parts, &answer);
	if (r)
		return r;
	r = fd_packet_send(socket, &answer, sizeof(answer), &t.body, answer.outcome == FETCH_DONE,
			   0);
	return r < 0 ? error_origin(r) : r;
}

/* Texts end where they say, and hold no more than what http_send() lets pass. */
static bool is_request(const struct http_request_packet *request)
{
	const char *type = request->content_type, *encoding = request->content_encoding;

	if (request->magic != FETCH_MAGIC || !request->length || request->length > HTTP_URL_MAX ||
	    request->url[request->length] || request->timeout_ms > INT32_MAX ||
	    type[HTTP_CONTENT_TYPE_MAX] || encoding[HTTP_CONTENT_TYPE_MAX])
		return false;
	return (!*type || http_header_is_value(type, strlen(type))) &&
	       (!*encoding || http_header_is_value(encoding, strlen(encoding)));
}

static int requests_serve_one(int socket, CURL *easy)
{
	cleanup(fd_packet_deinit) struct fd_packet packet;
	struct http_request_packet request;
	int r;

	r = fd_packet_receive(socket, &request, sizeof(request), 0, &packet);
	if (r)
		return r < 0 ? error_origin(r) : r;
	if (packet.length != sizeof(request) || packet.n_fds != N_HTTP_PARTS || packet.is_cut ||
	    !is_request(&request))
		return error_origin(-EPROTO);
	return requests_answer(socket, easy, &request, packet.fds);
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
	CURL *easy;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(easy = curl_easy_init()))
		return error_origin(-ENOMEM);
	r = pthread_create(&watcher, NULL, requests_watch, (void *)(intptr_t)socket);
	if (r)
		return error_origin(-r);
	(void)pthread_detach(watcher);
	while (!r)
		r = requests_serve_one(socket, easy);
	curl_easy_cleanup(easy);
	return r < 0 ? r : 0;
}
