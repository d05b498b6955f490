/* SPDX-License-Identifier: MIT */
/*
 * A profd-gateway of our own fetches one thing at a time: files by build id, or URLs. It is started
 * by the first request, and again by one that finds that it has ended since its last answer.
 * Between two requests there is a process or none; while one is_asked, it owes an answer. Each way
 * in which it can fail, a death and a malformed answer included, leads to fetcher_fail(): the
 * process is ended, and the next request starts another.
 *
 * What it answers may be a stranger's doing. Of build ids, only a read-only regular file of a
 * bounded size that begins as an ELF file is handed out. Body and PEM files of an HTTP request are
 * read here and sent as sealed memory, because the gateway may open nothing of ours; the body of
 * the answer comes back in the same way.
 */
#include "client/fetch/fetcher.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"
#include "common/helper/memory_file.h"
#include "common/program_path.h"
#include "common/read_end.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define URLS_VARIABLE "DEBUGINFOD_URLS="

#define END_MS    2000
#define KILLED_MS 1000
#define PEM_MAX   ((size_t)1 << 20)  /* bytes of a file */
#define GRACE_NS  (5000 * NS_PER_MS) /* past the timeout, which the gateway should have kept */

_Static_assert(FETCH_SOCKET_FD == CHILD_FIRST_FD, "descriptors of the gateway");
_Static_assert(N_HTTP_PARTS <= FD_PACKET_FDS_MAX, "parts of a request");

struct fetcher {
	bool is_http;
	char *path, *urls, *cache_directory;
	struct child child;
	int socket; /* our end; -1: none */
	bool is_asked;
	uint64_t until_ns, max_bytes; /* of what was asked by HTTP */
};

#define fetcher_refuse(message, outcome, ...) \
	(snprintf((message)->text, sizeof((message)->text), __VA_ARGS__), (outcome))

/* All that says how a gateway with a cache directory works, but for its arguments. */
static const char *const kept[] = {
	"http_proxy=",    "https_proxy=",    "HTTPS_PROXY=",  "all_proxy=",
	"ALL_PROXY=",     "no_proxy=",       "NO_PROXY=",     "SSL_CERT_DIR=",
	"SSL_CERT_FILE=", "JOURNAL_STREAM=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
};

/* Returns 0 or negative errno, which is the program's unless it is -ENOMEM. */
static int fetcher_start(struct fetcher *f)
{
	char *const argv[] = {(char *)(uintptr_t) "profd-gateway",
			      (char *)(uintptr_t)(f->is_http ? "--http" : "--fetch"),
			      (char *)(uintptr_t)(f->cache_directory ? "--cache-directory" : NULL),
			      f->cache_directory, NULL};
	static const int type = SOCK_SEQPACKET;
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *urls = NULL;

	if (f->urls && text_print(&urls, "%s%s", URLS_VARIABLE, f->urls))
		return -ENOMEM;
	return child_environment(&environment, f->cache_directory ? kept : NULL, ARRAY_SIZE(kept),
				 urls)
		       ?: child_start(&f->child,
				      &(struct child_program){
					      .path = f->path,
					      .argv = argv,
					      .environment = environment,
					      .sockets = &type,
					      .n_sockets = 1,
				      },
				      &f->socket);
}

/* Returns its status as of waitpid(2); 0: unknown. */
static int fetcher_end(struct fetcher *f)
{
	int status = 0;

	closep(&f->socket);
	f->socket = -1;
	f->is_asked = false;
	/* If it has become another user that we may not signal, only the closed socket ends it. */
	if (!child_reap(&f->child, END_MS, &status)) {
		kill(f->child.pid, SIGKILL);
		(void)!child_reap(&f->child, KILLED_MS, &status);
	}
	closep(&f->child.pidfd);
	f->child = CHILD_NONE;
	return status;
}

/* Ends it after an error. The message: how it ended, or @what it does. Returns FETCH_FAILED. */
static int fetcher_fail(struct fetcher *f, const char *what, struct fetcher_message *message)
{
	int status = fetcher_end(f);

	if (WIFSIGNALED(status))
		return fetcher_refuse(message, FETCH_FAILED,
				      "profd-gateway was killed by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return fetcher_refuse(message, FETCH_FAILED, "profd-gateway ended with status %d",
				      WEXITSTATUS(status));
	return fetcher_refuse(message, FETCH_FAILED, "profd-gateway %s", what);
}

/* Blocks only for starting the program. FETCH_DONE, _FAILED or negative errno. */
static int fetcher_ask(struct fetcher *f, const void *request, size_t size, const int *fds,
		       size_t n_fds, struct fetcher_message *message)
{
	int r = FETCH_DONE;

	if (f->is_asked)
		return error_origin(-EBUSY);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		if (!f->child.pid && (r = fetcher_start(f)))
			return r == -ENOMEM ? error_origin(r)
					    : fetcher_refuse(message, FETCH_FAILED,
							     "cannot start %.150s: %s", f->path,
							     strerrordesc_np(-r));
		if (!fd_packet_send(f->socket, request, size, fds, n_fds, MSG_DONTWAIT)) {
			f->is_asked = true;
			return FETCH_DONE;
		}
		r = fetcher_fail(f, "does not accept requests", message);
	}
	return r;
}

/*
 * Waits for the answer until CLOCK_MONOTONIC is @until_ns. One without a file is a success, too.
 * *ret_files is to be given to fd_packet_deinit() in any case. Returns its outcome.
 */
static int fetcher_await(struct fetcher *f, uint64_t until_ns, struct fetch_answer *ret,
			 struct fd_packet *ret_files, struct fetcher_message *message)
{
	ret_files->n_fds = 0;
	if (!f->is_asked)
		return fetcher_refuse(message, FETCH_FAILED, "nothing was asked");
	if (!fd_packet_await(f->socket, until_ns))
		return fetcher_fail(f, "does not answer", message);
	if (fd_packet_receive(f->socket, ret, sizeof(*ret), 0, ret_files))
		return fetcher_fail(f, "ended without an answer", message);
	if (ret_files->length != sizeof(*ret) || ret->magic != FETCH_MAGIC ||
	    ret->outcome >= N_FETCH_OUTCOMES)
		return fetcher_fail(f, "sent a malformed answer", message);
	f->is_asked = false;
	memcpy(message->text, ret->text, sizeof(message->text));
	/* A server's text may hold control sequences. */
	message->text[sizeof(message->text) - 1] = '\0';
	utf8_make_harmless(message->text, "");
	return (int)ret->outcome;
}

int fetcher_new(struct fetcher **ret, const struct fetcher_options *options)
{
	cleanup(fetcher_freep) struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->is_http = options->is_http;
	f->child = CHILD_NONE;
	f->socket = -1;
	r = options->path ? text_copy(&f->path, options->path)
			  : program_path("PROFD_GATEWAY", "profd-gateway", &f->path);
	r = r ?:
	    text_copy(&f->urls, options->urls) ?:
	    text_copy(&f->cache_directory, options->cache_directory);
	if (!r)
		*ret = steal_ptr(&f);
	return r;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	(void)!fetcher_end(f);
	free(f->path);
	free(f->urls);
	free(f->cache_directory);
	free(f);
}

void fetcher_stop(struct fetcher *f)
{
	(void)!fetcher_end(f);
}

int fetcher_fd(const struct fetcher *f)
{
	return f->is_asked ? f->socket : -1;
}

int fetcher_pid(const struct fetcher *f)
{
	return (int)f->child.pid;
}

/* --- files by build id ------------------------------------------------------------------------ */

int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message)
{
	struct fetch_request request = {.magic = FETCH_MAGIC, .length = (uint32_t)length};

	if (!length || length > FETCH_ID_MAX)
		return fetcher_refuse(message, FETCH_FAILED, "there are no build ids of %zu bytes",
				      length);
	memcpy(request.id, id, length);
	return fetcher_ask(f, &request, sizeof(request), NULL, 0, message);
}

/* Returns FETCH_DONE, _REFUSED, or _FAILED: it is not even what a gateway would send. */
static int fetcher_check_file(int fd, struct fetcher_message *message)
{
	unsigned char magic[SELFMAG];
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) ||
	    fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FETCH_FAILED;
	if ((uint64_t)st.st_size > FETCH_FILE_MAX)
		return fetcher_refuse(message, FETCH_REFUSED, "it is larger than %llu bytes",
				      (unsigned long long)FETCH_FILE_MAX);
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, sizeof(magic)) != 0)
		return fetcher_refuse(message, FETCH_REFUSED,
				      "what the server sent is no ELF file");
	return FETCH_DONE;
}

int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet files;
	struct fetch_answer answer;
	int r = fetcher_await(f, UINT64_MAX, &answer, &files, message);

	if (r)
		return r;
	r = fetcher_check_file(files.n_fds == 1 ? files.fds[0] : -1, message);
	if (r == FETCH_FAILED)
		return fetcher_fail(f, "sends no file where it should", message);
	if (!r)
		*ret_fd = steal_fd(&files.fds[0]);
	return r;
}

/* --- HTTP ------------------------------------------------------------------------------------- */

/* The files of a request: ours. */
struct fetcher_parts {
	int fds[N_HTTP_PARTS];
	size_t n;
};

static void parts_deinit(struct fetcher_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		close(parts->fds[i]);
}

static int http_add_part(struct fetcher_parts *parts, const uint8_t *data, size_t length)
{
	int fd = memory_file_of("profd-http", data, length);

	if (fd < 0)
		return error_origin(fd);
	parts->fds[parts->n++] = fd;
	return FETCH_DONE;
}

/* Handed over as memory: the gateway has no permission to read the file. */
static int http_add_file(struct fetcher_parts *parts, const char *path,
			 struct fetcher_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	size_t length;
	int r;

	if (!path || !*path)
		return http_add_part(parts, NULL, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	r = fd < 0 ? error_outcome(errno) : read_end(fd, PEM_MAX, &data, &length);
	if (r < 0)
		return r;
	if (r)
		return fetcher_refuse(message, FETCH_FAILED, "%.100s: %s", path,
				      strerrordesc_np(r));
	if (!length)
		return fetcher_refuse(message, FETCH_FAILED, "%.100s: the file is empty", path);
	return http_add_part(parts, data, length);
}

/* FETCH_DONE or _FAILED. */
static int http_set_value(char ret[HTTP_CONTENT_TYPE_MAX + 1], const char *text,
			  struct fetcher_message *message)
{
	size_t length = text ? strlen(text) : 0;

	if (length > HTTP_CONTENT_TYPE_MAX || (length && !http_header_is_value(text, length)))
		return fetcher_refuse(message, FETCH_FAILED,
				      "the body has no such type or encoding");
	memcpy(ret, text ? text : "", length + 1);
	return FETCH_DONE;
}

static int http_add_headers(struct fetcher_parts *parts, const struct http_request *request,
			    struct fetcher_message *message)
{
	const char *text = request->headers ? request->headers : "", *header;
	struct http_headers headers = {.rest = text};
	size_t length;

	if (*text && !request->is_delivery)
		return fetcher_refuse(message, FETCH_FAILED, "headers are for deliveries");
	if (strlen(text) > HTTP_HEADERS_MAX)
		return fetcher_refuse(message, FETCH_FAILED, "the headers are larger than %zu KiB",
				      HTTP_HEADERS_MAX >> 10);
	while (http_headers_next(&headers, &header, &length))
		;
	if (headers.trouble)
		return fetcher_refuse(message, FETCH_FAILED, "line %u of the headers %s",
				      headers.line, headers.trouble);
	return http_add_part(parts, (const uint8_t *)text, strlen(text));
}

int http_send(struct fetcher *f, const struct http_request *request,
	      struct fetcher_message *message)
{
	cleanup(parts_deinit) struct fetcher_parts parts = {0};
	struct http_request_packet packet = {
		.magic = FETCH_MAGIC,
		.flags = (request->is_insecure ? HTTP_FLAG_INSECURE : 0) |
			 (request->body ? HTTP_FLAG_POST : 0) |
			 (request->is_delivery ? HTTP_FLAG_DELIVERY : 0),
		.timeout_ms = request->timeout_ms,
		.max_bytes = request->max_bytes,
	};
	size_t length = strlen(request->url);
	int r;

	if (length > HTTP_URL_MAX)
		return fetcher_refuse(message, FETCH_FAILED, "the URL is longer than %u bytes",
				      HTTP_URL_MAX);
	memcpy(packet.url, request->url, length);
	packet.length = (uint32_t)length;
	r = http_set_value(packet.content_type, request->content_type, message)
		?: http_set_value(packet.content_encoding, request->content_encoding, message)
		?: http_add_part(&parts, request->body, request->length)
		?: http_add_file(&parts, request->certificate, message)
		?: http_add_file(&parts, request->key, message)
		?: http_add_file(&parts, request->authorities, message)
		?: http_add_headers(&parts, request, message)
		?: fetcher_ask(f, &packet, sizeof(packet), parts.fds, parts.n, message);
	if (r)
		return r;
	f->until_ns = clock_ns(CLOCK_MONOTONIC) + request->timeout_ms * NS_PER_MS + GRACE_NS;
	f->max_bytes = request->max_bytes;
	return FETCH_DONE;
}

int http_receive(struct fetcher *f, struct http_answer *ret, struct fetcher_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet files;
	struct fetch_answer answer = {0};
	uint64_t max_bytes, length;
	bool was_asked = f->is_asked;
	int r = fetcher_await(f, f->until_ns, &answer, &files, message);

	/* One that ended before it answered may have sent it. */
	*ret = (struct http_answer){.fd = -1, .may_be_done = was_asked && !answer.is_unsent};
	if (r)
		return FETCH_FAILED; /* _NONE and _REFUSED are of files by build id */
	max_bytes = answer.status == 200 || f->max_bytes > HTTP_COMPLAINT_MAX ? f->max_bytes
									      : HTTP_COMPLAINT_MAX;
	if (files.n_fds != 1 || files.is_cut || !memory_file_is_sealed(files.fds[0], &length) ||
	    length > max_bytes || lseek(files.fds[0], 0, SEEK_SET) < 0)
		return fetcher_fail(f, "sends no body where it should", message);
	ret->status = answer.status;
	ret->retry_after_s = answer.retry_after_s;
	ret->fd = steal_fd(&files.fds[0]);
	return FETCH_DONE;
}
