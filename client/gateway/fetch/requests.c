/* SPDX-License-Identifier: MIT */
/*
 * One request at a time, as a transfer that is waited for together with the socket: when the other
 * end goes, so does the transfer. An answer's body is written into memory that is sealed when it is
 * whole. Nothing but HTTP is spoken, wherever a server redirects to, and everything that a server
 * can send has a bound: the header, the body, redirections, time.
 */
#include "client/gateway/fetch/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>

#include "client/fetch/fetch_packet.h"
#include "client/fetch/http_protocol.h"
#include "common/cleanup.h"
#include "common/error.h"

#define HEADER_MAX       ((size_t)256 << 10) /* bytes, those of redirections among them */
#define REDIRECTIONS_MAX 10L
#define WAIT_MS          1000
#define MS_PER_S         1000
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
	for (size_t at = 0; at < taken;) {
		ssize_t r = pwrite(t->body, data + at, taken - at, (off_t)(t->length + at));

		if (r < 0 && errno != EINTR)
			return 0;
		at += r > 0 ? (size_t)r : 0;
	}
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

/* Of a file that we hold, which may be nobody's here to open by another name. */
static CURLcode curl_set_file(CURL *easy, CURLoption option, int fd)
{
	char path[32];

	if (fd < 0)
		return CURLE_OK;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return curl_easy_setopt(easy, option, path);
}

static CURLcode curl_set_body(CURL *easy, int fd, struct curl_slist *headers)
{
	off_t length = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *body;
	CURLcode r;

	if (fd < 0)
		return CURLE_OK;
	if (length < 0)
		return CURLE_READ_ERROR;
	body = length ? mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (body == MAP_FAILED)
		return CURLE_OUT_OF_MEMORY;
	r = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body ? body : "");
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (body)
		munmap(body, (size_t)length);
	return r;
}

/* One that takes no other protocol than HTTP. */
static CURLcode transfer_set_rules(struct transfer *t, const struct http_request_packet *request)
{
	CURL *easy = t->easy;
	CURLcode r = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS);

	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, PROTOCOLS);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTIONS_MAX);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_USERAGENT, "profctl/" PROFD_VERSION);
	if (!r && is_loopback_url(request->url))
		r = curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	if (!r && request->flags & HTTP_FLAG_INSECURE) {
		r = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		if (!r)
			r = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	return r;
}

static CURLcode transfer_prepare(struct transfer *t, const struct http_request_packet *request,
				 const int parts[N_HTTP_PARTS], struct curl_slist *headers)
{
	CURL *easy = t->easy;
	CURLcode r = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->trouble);

	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (!r)
		r = transfer_set_rules(t, request);
	if (!r)
		r = curl_set_body(easy, parts[HTTP_PART_BODY], headers);
	if (!r)
		r = curl_set_file(easy, CURLOPT_SSLCERT, parts[HTTP_PART_CERTIFICATE]);
	if (!r)
		r = curl_set_file(easy, CURLOPT_SSLKEY, parts[HTTP_PART_KEY]);
	if (!r)
		r = curl_set_file(easy, CURLOPT_CAINFO, parts[HTTP_PART_AUTHORITIES]);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header);
	return r ? r : curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
}

/* --- one request ------------------------------------------------------------------------------ */

/* Returns 1 when the transfer has ended, 0 when the other end is gone, or negative errno. */
static int transfer_run(CURLM *multi, int socket, CURLcode *ret)
{
	struct curl_waitfd other_end = {.fd = socket, .events = CURL_WAIT_POLLIN};
	int n_running = 1, n_left;
	CURLMsg *done;

	while (n_running) {
		if (curl_multi_perform(multi, &n_running) ||
		    (n_running && curl_multi_poll(multi, &other_end, 1, WAIT_MS, NULL)))
			return error_origin(-EIO);
		if (other_end.revents)
			return 0; /* nothing else is sent before an answer */
	}
	done = curl_multi_info_read(multi, &n_left);
	if (!done)
		return error_origin(-EIO);
	*ret = done->data.result;
	return 1;
}

static void http_answer_fail(struct http_answer_packet *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void http_answer_fail(struct http_answer_packet *answer, const char *format, ...)
{
	va_list args;

	answer->outcome = HTTP_ANSWER_FAILED;
	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
}

/* What libcurl returns, for people. */
static void http_answer_fail_curl(const struct transfer *t,
				  const struct http_request_packet *request, CURLcode r,
				  struct http_answer_packet *answer)
{
	long error = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &error);
	if (t->is_too_large)
		http_answer_fail(answer, "the server sends more than %llu MiB",
				 (unsigned long long)t->max_bytes >> 20);
	else if (t->has_too_much_header)
		http_answer_fail(answer, "the header of the server's answer is larger than %zu KiB",
				 HEADER_MAX >> 10);
	else if (r == CURLE_OPERATION_TIMEDOUT)
		http_answer_fail(answer, "no answer, or no whole one, within %llu s",
				 (unsigned long long)request->timeout_ms / MS_PER_S);
	else if (r == CURLE_COULDNT_CONNECT && error)
		http_answer_fail(answer, "%s",
				 strerrordesc_np((int)error) ? strerrordesc_np((int)error)
							     : "cannot connect");
	else if (r == CURLE_UNSUPPORTED_PROTOCOL)
		http_answer_fail(answer, "only http and https are spoken: %s", t->trouble);
	else if (r == CURLE_TOO_MANY_REDIRECTS)
		http_answer_fail(answer, "the server redirects more than %ld times",
				 REDIRECTIONS_MAX);
	else
		http_answer_fail(answer, "%s", *t->trouble ? t->trouble : curl_easy_strerror(r));
}

/* Returns 1 with @answer filled, 0 when the other end is gone, or negative errno. */
static int transfer_perform(CURLM *multi, struct transfer *t, int socket,
			    const struct http_request_packet *request,
			    const int parts[N_HTTP_PARTS], struct http_answer_packet *answer)
{
	/* Nobody here waits for "100 Continue"; Go's servers read a form before the handler does.
	 */
	static struct curl_slist expect = {.data = (char *)(uintptr_t) "Expect:"};
	static struct curl_slist type = {
		.data = (char *)(uintptr_t) "Content-Type: application/octet-stream",
		.next = &expect};
	long status = 0;
	CURLcode result;
	int r;

	result = transfer_prepare(t, request, parts, &type);
	if (!result) {
		if (curl_multi_add_handle(multi, t->easy))
			return error_origin(-ENOMEM);
		r = transfer_run(multi, socket, &result);
		curl_multi_remove_handle(multi, t->easy);
		if (r <= 0)
			return r;
	}
	if (result) {
		http_answer_fail_curl(t, request, result, answer);
		return 1;
	}
	if (fcntl(t->body, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) <
	    0)
		return error_origin(-errno);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (uint32_t)status;
	return 1;
}

/* Which of the files is which; false: they are not as many as were announced. */
static bool requests_assign_parts(const struct http_request_packet *request,
				  const struct fetch_packet_fds *fds, int ret[N_HTTP_PARTS])
{
	size_t n = 0;

	for (int part = 0; part < N_HTTP_PARTS; part++) {
		ret[part] = -1;
		if (!(request->parts & 1u << part))
			continue;
		if (n == fds->n)
			return false;
		ret[part] = fds->all[n++];
	}
	return n == fds->n && !fds->n_more && !(request->parts >> N_HTTP_PARTS);
}

/* As transfer_perform(), answered. */
static int answer_request(CURLM *multi, int socket, const struct http_request_packet *request,
			  const int parts[N_HTTP_PARTS])
{
	struct http_answer_packet answer = {.magic = HTTP_MAGIC};
	cleanup(transfer_deinit) struct transfer t = {
		.easy = curl_easy_init(),
		.body = memfd_create("profd-http", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		.max_bytes = request->max_bytes,
	};
	int r;

	if (!t.easy || t.body < 0)
		return error_origin(-ENOMEM);
	r = transfer_perform(multi, &t, socket, request, parts, &answer);
	if (r <= 0)
		return r;
	r = fetch_packet_send(socket, &answer, sizeof(answer), &t.body,
			      answer.outcome == HTTP_ANSWER_DONE, 0);
	if (r == -EPIPE || r == -ECONNRESET)
		return 0;
	return r ? error_origin(r) : 1;
}

static int requests_serve_one(CURLM *multi, int socket)
{
	cleanup(fetch_packet_fds_deinit) struct fetch_packet_fds fds;
	struct http_request_packet request;
	int parts[N_HTTP_PARTS];
	ssize_t n = fetch_packet_receive(socket, &request, sizeof(request), &fds);

	if (n == 0 || n == -ECONNRESET)
		return 0;
	if (n < 0)
		return error_origin((int)n);
	if (n != sizeof(request) || request.magic != HTTP_MAGIC || !request.length ||
	    request.length > HTTP_URL_MAX || request.url[request.length] ||
	    request.timeout_ms > INT32_MAX || !requests_assign_parts(&request, &fds, parts))
		return error_origin(-EPROTO);
	return answer_request(multi, socket, &request, parts);
}

int requests_serve(int socket)
{
	CURLM *multi;
	int r = 1;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return error_origin(-ENOMEM);
	multi = curl_multi_init();
	if (!multi)
		return error_origin(-ENOMEM);
	while (r > 0)
		r = requests_serve_one(multi, socket);
	curl_multi_cleanup(multi);
	curl_global_cleanup();
	return r;
}
