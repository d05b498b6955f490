/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd has an epoll instance of its own, which is one event source here, and a timer for
 * what it wants to go on with. It calls back: for a connection that begins or ends, for the request
 * line as it was sent, for the request (at its headers, its body and its end), and when it is
 * through with it.
 *
 * A request that is not answered at once is suspended; its connection is watched for the client's
 * end, which libmicrohttpd does not see then. Resumed, it is called back for again, and answered.
 */
#include "client/gateway/http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/gateway/http/complaint.h"
#include "client/gateway/http/server_private.h"
#include "common/error.h"

#define MEMORY_MAX ((size_t)32 << 10) /* of a connection: its headers */

/* --- the loop --------------------------------------------------------------------------------- */

static int server_run(struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int r;

	if (MHD_run(s->mhd) != MHD_YES)
		return error_origin(-EIO);
	if (MHD_get_timeout(s->mhd, &ms) != MHD_YES)
		return sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	r = sd_event_source_set_time_relative(s->timer, ms * 1000);
	return r < 0 ? r : sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

void server_wake(struct http_server *s)
{
	if (!s->timer)
		return;
	sd_event_source_set_time_relative(s->timer, 0);
	sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static int server_end_handler(struct http_server *s, int r)
{
	return r < 0 ? sd_event_exit(s->loop, r) : 0;
}

static int server_handle_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	return server_end_handler(userdata, server_run(userdata));
}

static int server_handle_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	return server_end_handler(userdata, server_run(userdata));
}

/* --- the interface ---------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 0))) static void
server_note_complaint(void *userdata, const char *format, va_list args)
{
	struct http_server *s = userdata;
	struct http_message *complaint = &s->complaint;
	unsigned status;

	vsnprintf(complaint->text, sizeof(complaint->text), format, args);
	complaint->text[strcspn(complaint->text, "\n")] = '\0';
	status = http_complaint_status(complaint->text);
	if (!status)
		return;
	s->n_complaints++;
	s->options.counters->requests[status / 100]++;
	s->options.counters->refused[http_status_is_too_large(status) ? HTTP_REFUSED_TOO_LARGE
								      : HTTP_REFUSED_MALFORMED]++;
}

static struct MHD_Daemon *server_start(struct http_server *s, int fd)
{
	const struct http_server_options *o = &s->options;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (char *)(uintptr_t)o->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (char *)(uintptr_t)o->key},
		{MHD_OPTION_END, 0, NULL},
	};

	if (!o->certificate)
		tls[0] = tls[2];
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
					(o->certificate ? MHD_USE_TLS : 0),
				0, NULL, NULL, exchange_handle, s, MHD_OPTION_EXTERNAL_LOGGER,
				server_note_complaint, s, MHD_OPTION_LISTEN_SOCKET, fd,
				MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_MAX,
				MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
				connections_note, s, MHD_OPTION_NOTIFY_COMPLETED,
				exchange_note_completed, s, MHD_OPTION_URI_LOG_CALLBACK,
				exchange_note_target, s, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

static int server_add_sources(struct http_server *s)
{
	int epoll_fd = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD)->listen_fd;
	int r = sd_event_add_io(s->loop, &s->io, epoll_fd, EPOLLIN, server_handle_io, s);

	if (r >= 0)
		r = sd_event_add_time_relative(s->loop, &s->timer, CLOCK_MONOTONIC, 0, 1,
					       server_handle_timer, s);
	if (r >= 0)
		r = sd_event_add_time_relative(s->loop, &s->sweep, CLOCK_MONOTONIC, SWEEP_US, 0,
					       connections_handle_sweep, s);
	return r < 0 ? error_origin(r) : 0;
}

int http_server_new(struct http_server **ret, const struct http_server_options *options,
		    struct http_message *message)
{
	cleanup(http_server_freep) struct http_server *s = calloc(1, sizeof(*s));
	cleanup(closep) int fd = -1;
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->options = *options;
	if (!s->options.request_ms)
		s->options.request_ms = HTTP_REQUEST_MS;
	if (!s->options.idle_ms)
		s->options.idle_ms = HTTP_IDLE_MS;
	s->is_unix = http_listener_place(options->listener)->path;
	s->is_local = http_listener_place(options->listener)->is_local;
	s->loop = sd_event_ref(options->loop);
	r = http_places_new(&s->places, HTTP_CONNECTIONS_MAX, HTTP_CLIENT_CONNECTIONS_MAX);
	if (r)
		return r;
	/* libmicrohttpd closes its own. */
	fd = fcntl(http_listener_fd(options->listener), F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error_origin(-errno);
	s->mhd = server_start(s, fd);
	if (!s->mhd) {
		snprintf(message->text, sizeof(message->text), "cannot serve HTTP: %.200s",
			 *s->complaint.text ? s->complaint.text : "libmicrohttpd refuses");
		return HTTP_SERVER_E_BAD;
	}
	steal_fd(&fd);
	r = server_add_sources(s);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return HTTP_SERVER_E_OK;
}

void http_server_retire(struct http_server *s, void (*drained)(void *userdata), void *userdata)
{
	int fd;

	/* What the kernel has accepted is to be answered, too. */
	(void)server_run(s);
	fd = MHD_quiesce_daemon(s->mhd);
	closep(&fd);
	s->is_retired = true;
	s->drained = drained;
	s->drained_userdata = userdata;
	connections_retire(s);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	while (s->pending)
		exchange_abandon(s->pending, MHD_HTTP_SERVICE_UNAVAILABLE, "server is stopping");
	s->io = sd_event_source_disable_unref(s->io);
	s->timer = sd_event_source_disable_unref(s->timer);
	if (s->mhd)
		MHD_stop_daemon(s->mhd);
	http_places_free(s->places);
	sd_event_source_disable_unref(s->sweep);
	sd_event_unref(s->loop);
	free(s);
}
