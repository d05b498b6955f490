/* SPDX-License-Identifier: MIT */
/*
 * A profd-gateway of our own fetches one thing at a time: files by build id, or URLs. It is started
 * by the first request, and again by one that finds that it has ended since its last answer.
 * Between two requests there is a process or none; while one is_asked, it owes an answer. Each way
 * in which it can fail, a death and a malformed answer included, leads to gateway_child_fail(): the
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

#include "client/fetch/http.h"
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

struct gateway_child {
	const char *mode; /* its first argument; borrowed */
	char *path, *urls, *cache_directory;
	struct child child;
	int socket; /* our end; -1: none */
	bool is_asked;
};

/* Starts nothing yet. *g is to be given to gateway_child_deinit() in any case. */
static int gateway_child_init(struct gateway_child *g, const char *mode,
			      const struct fetcher_options *options)
{
	int r;

	*g = (struct gateway_child){.mode = mode, .child = CHILD_NONE, .socket = -1};
	r = options->path ? text_copy(&g->path, options->path)
			  : program_path("PROFD_GATEWAY", "profd-gateway", &g->path);
	return r ?:
	       text_copy(&g->urls, options->urls) ?:
	       text_copy(&g->cache_directory, options->cache_directory);
}

/* All that says how a gateway with a cache directory works, but for its arguments. */
static const char *const kept[] = {
	"http_proxy=",    "https_proxy=",    "HTTPS_PROXY=",  "all_proxy=",
	"ALL_PROXY=",     "no_proxy=",       "NO_PROXY=",     "SSL_CERT_DIR=",
	"SSL_CERT_FILE=", "JOURNAL_STREAM=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
};

/* Returns 0 or negative errno, which is the program's unless it is -ENOMEM. */
static int gateway_child_start(struct gateway_child *g)
{
	char *const argv[] = {(char *)(uintptr_t) "profd-gateway", (char *)(uintptr_t)g->mode,
			      (char *)(uintptr_t)(g->cache_directory ? "--cache-directory" : NULL),
			      g->cache_directory, NULL};
	static const int type = SOCK_SEQPACKET;
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *urls = NULL;

	if (g->urls && text_print(&urls, "%s%s", URLS_VARIABLE, g->urls))
		return -ENOMEM;
	return child_environment(&environment, g->cache_directory ? kept : NULL, ARRAY_SIZE(kept),
				 urls)
		       ?: child_start(&g->child,
				      &(struct child_program){
					      .path = g->path,
					      .argv = argv,
					      .environment = environment,
					      .sockets = &type,
					      .n_sockets = 1,
				      },
				      &g->socket);
}

/* Returns what waitpid(2) says of its end; 0: unknown. */
static int gateway_child_end(struct gateway_child *g)
{
	int status = 0;

	closep(&g->socket);
	g->socket = -1;
	g->is_asked = false;
	/* Where it became another user, and we may not signal that, the socket has to do. */
	if (!child_reap(&g->child, END_MS, &status)) {
		kill(g->child.pid, SIGKILL);
		(void)!child_reap(&g->child, KILLED_MS, &status);
	}
	closep(&g->child.pidfd);
	g->child = CHILD_NONE;
	return status;
}

static void gateway_child_deinit(struct gateway_child *g)
{
	(void)!gateway_child_end(g);
	free(g->path);
	free(g->urls);
	free(g->cache_directory);
}

/* It is of no use any more: ends it. @why: how it ended, or @what it does. FETCHER_E_FAILED. */
static int gateway_child_fail(struct gateway_child *g, const char *what, char why[FETCH_TEXT_MAX])
{
	int status = gateway_child_end(g);

	if (WIFSIGNALED(status))
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway was killed by signal %d",
			 WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway ended with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway %s", what);
	return FETCHER_E_FAILED;
}

/* Blocks only for starting the program. FETCHER_E_OK, _FAILED or negative errno; @why as above. */
static int gateway_child_send(struct gateway_child *g, const void *request, size_t size,
			      const int *fds, size_t n_fds, char why[FETCH_TEXT_MAX])
{
	int r = FETCHER_E_OK;

	if (g->is_asked)
		return error_origin(-EBUSY);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		if (!g->child.pid && (r = gateway_child_start(g))) {
			if (r == -ENOMEM)
				return error_origin(r);
			snprintf(why, FETCH_TEXT_MAX, "cannot start %.150s: %s", g->path,
				 strerrordesc_np(-r));
			return FETCHER_E_FAILED;
		}
		if (!fd_packet_send(g->socket, request, size, fds, n_fds, MSG_DONTWAIT)) {
			g->is_asked = true;
			return FETCHER_E_OK;
		}
		r = gateway_child_fail(g, "does not accept requests", why);
	}
	return r;
}

/*
 * Waits for the answer until CLOCK_MONOTONIC is @until_ns. One without a file is a success, too.
 * *ret_files is to be given to fd_packet_deinit() in any case. FETCHER_E_OK or _FAILED.
 */
static int gateway_child_receive(struct gateway_child *g, uint64_t until_ns,
				 struct fetch_answer *ret, struct fd_packet *ret_files,
				 char why[FETCH_TEXT_MAX])
{
	ret_files->n_fds = 0;
	if (!g->is_asked) {
		snprintf(why, FETCH_TEXT_MAX, "nothing was asked");
		return FETCHER_E_FAILED;
	}
	if (!fd_packet_await(g->socket, until_ns))
		return gateway_child_fail(g, "does not answer", why);
	if (fd_packet_receive(g->socket, ret, sizeof(*ret), 0, ret_files))
		return gateway_child_fail(g, "ended without an answer", why);
	if (ret_files->length != sizeof(*ret) || ret->magic != FETCH_MAGIC ||
	    ret->outcome >= N_FETCH_OUTCOMES)
		return gateway_child_fail(g, "sent a malformed answer", why);
	g->is_asked = false;
	/* What servers say is nothing for somebody's terminal. */
	ret->text[sizeof(ret->text) - 1] = '\0';
	utf8_make_harmless(ret->text);
	return FETCHER_E_OK;
}

/* --- files by build id --------------------------------------------------------------------------
 */

struct fetcher {
	struct gateway_child gateway;
};

int fetcher_new(struct fetcher **ret, const struct fetcher_options *options)
{
	cleanup(fetcher_freep) struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	r = gateway_child_init(&f->gateway, "--fetch", options);
	if (!r)
		*ret = steal_ptr(&f);
	return r;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	gateway_child_deinit(&f->gateway);
	free(f);
}

void fetcher_stop(struct fetcher *f)
{
	(void)!gateway_child_end(&f->gateway);
}

int fetcher_fd(const struct fetcher *f)
{
	return f->gateway.is_asked ? f->gateway.socket : -1;
}

int fetcher_pid(const struct fetcher *f)
{
	return (int)f->gateway.child.pid;
}

int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message)
{
	struct fetch_request request = {.magic = FETCH_MAGIC, .length = (uint32_t)length};

	if (!length || length > FETCH_ID_MAX) {
		snprintf(message->text, sizeof(message->text),
			 "there are no build ids of %zu bytes", length);
		return FETCHER_E_FAILED;
	}
	memcpy(request.id, id, length);
	return gateway_child_send(&f->gateway, &request, sizeof(request), NULL, 0, message->text);
}

/* Returns FETCHER_E_OK, _REFUSED, or _FAILED: it is not even what a gateway would send. */
static int fetcher_check_file(int fd, struct fetcher_message *message)
{
	unsigned char magic[SELFMAG];
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) ||
	    fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FETCHER_E_FAILED;
	if ((uint64_t)st.st_size > FETCH_FILE_MAX) {
		snprintf(message->text, sizeof(message->text), "it is larger than %llu bytes",
			 (unsigned long long)FETCH_FILE_MAX);
		return FETCHER_E_REFUSED;
	}
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, sizeof(magic)) != 0) {
		snprintf(message->text, sizeof(message->text),
			 "what the server sent is no ELF file");
		return FETCHER_E_REFUSED;
	}
	return FETCHER_E_OK;
}

int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet files;
	struct fetch_answer answer;
	int r;

	if (gateway_child_receive(&f->gateway, UINT64_MAX, &answer, &files, message->text))
		return FETCHER_E_FAILED;
	if (answer.outcome == FETCH_NONE)
		return FETCHER_E_NONE;
	if (answer.outcome != FETCH_DONE) {
		memcpy(message->text, answer.text, sizeof(message->text));
		return answer.outcome == FETCH_REFUSED ? FETCHER_E_REFUSED : FETCHER_E_FAILED;
	}
	r = fetcher_check_file(files.n_fds == 1 ? files.fds[0] : -1, message);
	if (r == FETCHER_E_FAILED)
		(void)!gateway_child_fail(&f->gateway, "sends no file where it should",
					  message->text);
	if (r == FETCHER_E_OK)
		*ret_fd = steal_fd(&files.fds[0]);
	return r;
}

int fetcher_get(struct fetcher *f, const uint8_t *id, size_t length, int *ret_fd,
		struct fetcher_message *message)
{
	int r = fetcher_send(f, id, length, message) ?: fetcher_receive(f, ret_fd, message);

	return r == FETCHER_E_REFUSED ? FETCHER_E_FAILED : r;
}

/* --- HTTP ----------------------------------------------------------------------------------------
 */
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

/* The files of a request: ours. */
struct fetcher_parts {
	int all[N_HTTP_PARTS];
	size_t n;
	uint32_t bits;
};

static void parts_deinit(struct fetcher_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		close(parts->all[i]);
}

static int http_add_part(struct fetcher_parts *parts, enum http_part part, const uint8_t *data,
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
static int http_add_file(struct fetcher_parts *parts, enum http_part part, const char *path,
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

static int http_make_parts(struct fetcher_parts *parts, const struct http_request *request,
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
	cleanup(parts_deinit) struct fetcher_parts parts = {0};
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
