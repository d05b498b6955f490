/* SPDX-License-Identifier: MIT */
#include "client/web/private_gateway.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/web/web_protocol.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/child.h"
#include "common/helper/fd_packet.h"
#include "common/program_path.h"
#include "common/unixsock.h"
#include "common/utf8.h"

#define ANY_PORT  "127.0.0.1:0"
#define START_NS  (30 * NS_PER_S) /* on a busy machine */
#define END_MS    5000
#define KILLED_MS 1000

_Static_assert(WEB_SOCKET_FD == CHILD_FIRST_FD, "descriptors of the gateway");

struct private_gateway {
	const char *profd;  /* its socket */
	const char *listen; /* NULL: loopback */
	struct child child;
	int socket; /* our end */
	uint16_t port;
	char address[WEB_TEXT_MAX];
};

static int private_gateway_refuse(struct private_gateway_message *message, int outcome,
				  const char *what)
{
	snprintf(message->text, sizeof(message->text), "%.400s", what);
	return outcome;
}

static int private_gateway_start(struct private_gateway *g, const char *listen,
				 struct private_gateway_message *message)
{
	/* Times that are asked for are local ones. */
	static const char *const kept[] = {"TZ", "ASAN_OPTIONS=", "UBSAN_OPTIONS="};
	static const int type = SOCK_SEQPACKET;
	const char *const argv[] = {"profd-gateway", "--private", listen ? listen : ANY_PORT, NULL};
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *path = NULL;
	int r = program_path("PROFD_GATEWAY", "profd-gateway", &path)
			?: child_environment(&environment, kept, ARRAY_SIZE(kept), NULL);

	if (r)
		return r;
	r = child_start(&g->child,
			&(struct child_program){
				.path = path,
				.argv = (char *const *)argv,
				.environment = environment,
				.sockets = &type,
				.n_sockets = 1,
			},
			&g->socket);
	if (!r)
		return PRIVATE_GATEWAY_E_OK;
	snprintf(message->text, sizeof(message->text), "cannot start %.300s: %s", path,
		 strerrordesc_np(-r));
	return PRIVATE_GATEWAY_E_FAILED;
}

/* The gateway has another directory: it gets the path of ours. */
static int private_gateway_put_sources(const struct private_gateway_options *options,
				       struct web_hello *hello,
				       struct private_gateway_message *message)
{
	const char *trim_path = options->trim_path ? options->trim_path : "";
	size_t n;

	if (!options->source_path && !getcwd(hello->source_path, sizeof(hello->source_path)))
		strcpy(hello->source_path, "/");
	n = options->source_path ? strlen(options->source_path) : 0;
	if (n >= sizeof(hello->source_path) || strlen(trim_path) >= sizeof(hello->trim_path))
		return private_gateway_refuse(message, PRIVATE_GATEWAY_E_USAGE,
					      "the paths of sources are too long");
	if (n)
		memcpy(hello->source_path, options->source_path, n + 1);
	strcpy(hello->trim_path, trim_path);
	return PRIVATE_GATEWAY_E_OK;
}

static int private_gateway_greet(struct private_gateway *g,
				 const struct private_gateway_options *options,
				 struct private_gateway_message *message)
{
	struct web_hello hello = {
		.magic = WEB_MAGIC,
		.end_ns = options->end_ns,
		.is_files = options->is_files,
	};

	if (options->store && !options->is_files)
		snprintf(hello.store, sizeof(hello.store), "%s", options->store);
	if (private_gateway_put_sources(options, &hello, message))
		return PRIVATE_GATEWAY_E_USAGE;
	if (!fd_packet_send(g->socket, &hello, sizeof(hello), NULL, 0, MSG_DONTWAIT))
		return PRIVATE_GATEWAY_E_OK;
	return private_gateway_refuse(message, PRIVATE_GATEWAY_E_FAILED,
				      "profd-gateway has exited");
}

static int private_gateway_await_start(struct private_gateway *g,
				       struct private_gateway_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet packet = {0};
	struct web_start start;

	if (!fd_packet_await(g->socket, clock_ns(CLOCK_MONOTONIC) + START_NS))
		return private_gateway_refuse(message, PRIVATE_GATEWAY_E_FAILED,
					      "profd-gateway does not start");
	if (fd_packet_receive(g->socket, &start, sizeof(start), MSG_DONTWAIT, &packet))
		return private_gateway_refuse(message, PRIVATE_GATEWAY_E_FAILED,
					      "profd-gateway has exited");
	if (packet.length != sizeof(start) || start.magic != WEB_MAGIC ||
	    start.outcome >= N_WEB_OUTCOMES)
		return private_gateway_refuse(message, PRIVATE_GATEWAY_E_FAILED,
					      "profd-gateway is of another version");
	start.text[sizeof(start.text) - 1] = '\0';
	utf8_make_harmless(start.text, "");
	if (start.outcome != WEB_SERVES)
		return private_gateway_refuse(message,
					      start.outcome == WEB_USAGE ? PRIVATE_GATEWAY_E_USAGE
									 : PRIVATE_GATEWAY_E_FAILED,
					      start.text);
	memcpy(g->address, start.text, sizeof(g->address));
	g->port = (uint16_t)start.port;
	return PRIVATE_GATEWAY_E_OK;
}

int private_gateway_new(struct private_gateway **ret, const struct private_gateway_options *options,
			struct private_gateway_message *message)
{
	cleanup(private_gateway_freep) struct private_gateway *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return error_origin(-ENOMEM);
	g->profd = options->socket;
	g->listen = options->listen;
	g->child = CHILD_NONE;
	g->socket = -1;
	r = private_gateway_start(g, options->listen, message)
		?: private_gateway_greet(g, options, message)
		    ?: private_gateway_await_start(g, message);
	if (!r)
		*ret = steal_ptr(&g);
	return r;
}

void private_gateway_free(struct private_gateway *g)
{
	int status;

	if (!g)
		return;
	closep(&g->socket);
	if (!child_reap(&g->child, END_MS, &status)) {
		kill(g->child.pid, SIGKILL);
		(void)!child_reap(&g->child, KILLED_MS, &status);
	}
	closep(&g->child.pidfd);
	/* One in a directory of root's, which the gateway may not remove any more. */
	if (*g->address && !g->port)
		(void)unixsock_remove_stale(g->listen);
	explicit_bzero(g->address, sizeof(g->address));
	free(g);
}

int private_gateway_serve(struct private_gateway *g)
{
	cleanup(fd_packet_deinit) struct fd_packet packet = {0};
	struct web_connection answer = {.magic = WEB_MAGIC};
	cleanup(closep) int fd = -1;
	struct web_ask ask;
	int r = fd_packet_receive(g->socket, &ask, sizeof(ask), MSG_DONTWAIT, &packet);

	if (r == FD_PACKET_E_LATER)
		return PRIVATE_GATEWAY_E_OK;
	if (r || packet.length != sizeof(ask) || ask.magic != WEB_MAGIC)
		return PRIVATE_GATEWAY_E_ENDED;
	r = unixsock_connect_at_once(g->profd, &fd);
	answer.outcome = r < 0 ? UNIXSOCK_E_NOBODY : (uint32_t)r;
	answer.number = ask.number;
	r = fd_packet_send(g->socket, &answer, sizeof(answer), &fd, fd >= 0, MSG_DONTWAIT);
	return r == FD_PACKET_E_OK || r == FD_PACKET_E_LATER ? PRIVATE_GATEWAY_E_OK
							     : PRIVATE_GATEWAY_E_ENDED;
}

const char *private_gateway_address(const struct private_gateway *g)
{
	return g->address;
}

uint16_t private_gateway_port(const struct private_gateway *g)
{
	return g->port;
}

int private_gateway_fd(const struct private_gateway *g)
{
	return g->socket;
}
