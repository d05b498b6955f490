/* SPDX-License-Identifier: MIT */
/*
 * The order of a start: listen, make the secrets, serve, report the address. Whatever fails is
 * reported instead of that. Then the loop runs until the parent process hangs up: profctl has
 * ended, however that came.
 */
#include "client/gateway/private.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <systemd/sd-event.h>

#include "client/code/source_file.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/http/server.h"
#include "client/gateway/routes.h"
#include "client/gateway/view/view_protocol.h"
#include "client/web/web_protocol.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/text_print.h"

#define HELLO_NS (30 * NS_PER_S)

struct private_front {
	sd_event *loop;
	sd_event_source *parent;
	struct http_listener *listener;
	struct http_ticket ticket;
	struct http_access access;
	int root_fd;
	struct files *files;
	struct source_files *sources;
	char *trim_path; /* the sources' */
	struct served *served;
	struct http_server *server;
	int outcome; /* so far: of enum web_outcome, or negative errno */
	struct http_message message;
};

void private_front_free(struct private_front *f)
{
	if (!f)
		return;
	http_server_free(f->server);
	served_free(f->served);
	http_listener_free(f->listener);
	source_files_free(f->sources);
	free(f->trim_path);
	files_free(f->files);
	closep(&f->root_fd);
	sd_event_source_disable_unref(f->parent);
	sd_event_unref(f->loop);
	explicit_bzero(&f->ticket, sizeof(f->ticket));
	free(f);
}

static int private_listen(struct private_front *f, const char *listen)
{
	struct http_message *message = &f->message;
	struct http_place place;
	int r = http_place_parse(listen, &place, message);

	if (r)
		return WEB_USAGE;
	if (!place.is_local) {
		snprintf(message->text, sizeof(message->text),
			 "'%.100s' is open to other machines, which needs TLS and credentials: see "
			 "[http] in profd.conf",
			 listen);
		return WEB_USAGE;
	}
	r = http_listener_new(&f->listener, listen, NULL, message);
	return r > 0 ? WEB_FAILED : r;
}

/* The one that the kernel has chosen, if it was asked to; 0: it is a Unix socket. */
static int private_find_port(const struct private_front *f, uint16_t *ret)
{
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(own);

	if (getsockname(http_listener_fd(f->listener), (struct sockaddr *)&own, &length) < 0)
		return error_origin(-errno);
	*ret = own.ss_family == AF_INET    ? ntohs(((struct sockaddr_in *)&own)->sin_port)
	       : own.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&own)->sin6_port)
					   : 0;
	return 0;
}

static void private_print_address(const struct private_front *f, uint16_t port,
				  char ret[WEB_TEXT_MAX])
{
	const char *text = http_listener_text(f->listener), *colon = strrchr(text, ':');

	if (port)
		snprintf(ret, WEB_TEXT_MAX, "http://%.*s:%u/?token=%s", (int)(colon - text), text,
			 port, f->ticket.token);
	else
		snprintf(ret, WEB_TEXT_MAX, "http://localhost/?token=%s", f->ticket.token);
}

static int private_handle_parent(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)fd, (void)events, (void)userdata;
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int private_start_loop(struct private_front *f)
{
	int r = sd_event_new(&f->loop);

	if (r >= 0)
		r = sd_event_set_signal_exit(f->loop, true);
	if (r >= 0)
		r = sd_event_add_io(f->loop, &f->parent, WEB_SOCKET_FD, EPOLLRDHUP,
				    private_handle_parent, NULL);
	return r < 0 ? error_origin(r) : 0;
}

int private_front_new(struct private_front **ret, const char *listen)
{
	struct private_front *f = calloc(1, sizeof(*f));

	if (!f)
		return error_origin(-ENOMEM);
	f->root_fd = -1;
	f->outcome = private_listen(f, listen);
	*ret = f;
	return 0;
}

static int private_serve(struct private_front *f)
{
	static char *const no_names[] = {NULL};
	const struct http_server_options options = {
		.loop = f->loop,
		.listener = f->listener,
		.access = &f->access,
		.counters = served_counters(f->served),
		.routes = routes,
		.userdata = f->served,
	};
	int r;

	f->access = (struct http_access){.allowed_hosts = no_names, .ticket = &f->ticket};
	r = http_server_new(&f->server, &options, &f->message);
	return r > 0 ? WEB_FAILED : r;
}

/* What the parent process has to say first. */
static int private_receive_hello(struct web_hello *ret)
{
	cleanup(fd_packet_deinit) struct fd_packet packet = {0};

	if (!fd_packet_await(WEB_SOCKET_FD, clock_ns(CLOCK_MONOTONIC) + HELLO_NS) ||
	    fd_packet_receive(WEB_SOCKET_FD, ret, sizeof(*ret), MSG_DONTWAIT, &packet) ||
	    packet.length != sizeof(*ret) || ret->magic != WEB_MAGIC)
		return error_origin(-EPROTO);
	return 0;
}

/* The files of sources are opened with what privileges are left: those of the user, or, of root, of
 * the gateway's own. */
static int private_find_sources(struct private_front *f, struct web_hello *hello)
{
	hello->source_path[sizeof(hello->source_path) - 1] = '\0';
	hello->trim_path[sizeof(hello->trim_path) - 1] = '\0';
	f->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->root_fd < 0)
		return error_origin(-errno);
	return text_copy(&f->trim_path, hello->trim_path)
		       ?: files_new(&f->files, f->root_fd)
		       ?: source_files_new(&f->sources, f->files, hello->source_path, f->trim_path);
}

static void private_set_origin(struct private_front *f, const struct web_hello *hello)
{
	struct view_origin origin = {.is_files = hello->is_files};

	snprintf(origin.store, sizeof(origin.store), "%.*s", (int)sizeof(hello->store),
		 hello->store);
	served_set_origin(f->served, &origin);
}

/* WEB_* or negative errno. */
static int private_start(struct private_front *f, struct web_start *ret)
{
	struct web_hello hello;
	uint16_t port = 0;
	int r = private_receive_hello(&hello)
			?: f->outcome
			?: private_start_loop(f)
			?: private_find_port(f, &port)
			?: http_ticket_init(&f->ticket, port)
			?: served_new(&f->served, f->loop, PROFD_CALL_BY_PARENT)
			?: private_find_sources(f, &hello)
			?: private_serve(f);

	if (!r) {
		served_set_end(f->served, hello.end_ns);
		served_set_sources(f->served, f->sources);
		private_set_origin(f, &hello);
	}
	ret->outcome = r < 0 ? WEB_FAILED : (uint32_t)r;
	ret->port = port;
	if (!r)
		private_print_address(f, port, ret->text);
	else
		snprintf(ret->text, sizeof(ret->text), "%s",
			 r < 0 ? error_describe(r) : f->message.text);
	return r;
}

int private_run(struct private_front *f)
{
	struct web_start start = {.magic = WEB_MAGIC};
	int r;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	r = private_start(f, &start);
	if (fd_packet_send(WEB_SOCKET_FD, &start, sizeof(start), NULL, 0, 0) || r)
		return EXIT_FAILURE;
	explicit_bzero(start.text, sizeof(start.text));
	return sd_event_loop(f->loop) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
