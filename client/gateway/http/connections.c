/* SPDX-License-Identifier: MIT */
/*
 * Connections, which libmicrohttpd owns: who has them, and until when. libmicrohttpd's own timeout
 * begins anew with each byte. So each connection has a deadline here, after which it is shut down:
 * libmicrohttpd finds its end, and closes it.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include <utlist.h>

#include "client/gateway/http/server_private.h"
#include "common/clock.h"

static uint64_t deadline_after(uint64_t ms)
{
	return clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS;
}

/* Whatever was sent is taken, then it ends. */
static void connection_cut(struct http_connection *c)
{
	c->deadline_ns = 0;
	c->is_cut = true;
	shutdown(c->fd, SHUT_RDWR);
}

static void server_end_retirement(struct http_server *s)
{
	void (*drained)(void *userdata) = s->drained;

	s->drained = NULL;
	if (drained)
		drained(s->drained_userdata);
}

int connections_handle_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), late_ns = now_ns - usec * 1000;
	struct http_server *s = userdata;
	struct http_connection *c;
	int r;

	DL_FOREACH(s->connections, c)
	{
		/* What we have not read in this time does not make a client slow. */
		if (c->deadline_ns && late_ns > NS_PER_S)
			c->deadline_ns += late_ns;
		if (!c->deadline_ns || c->deadline_ns > now_ns)
			continue;
		s->options.counters->slow += !c->is_idle;
		connection_cut(c);
	}
	if (!s->connections) {
		server_end_retirement(s);
		return 0; /* it may be freed */
	}
	r = sd_event_source_set_time_relative(source, SWEEP_US);
	if (r >= 0)
		r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return r < 0 ? sd_event_exit(s->loop, r) : 0;
}

void connections_retire(struct http_server *s)
{
	struct http_connection *c;

	DL_FOREACH(s->connections, c)
	{
		if (c->is_idle)
			connection_cut(c);
	}
	sd_event_source_set_time_relative(s->sweep, 0);
	sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
}

static void connection_begin(struct http_server *s, struct MHD_Connection *mhd, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_connection *c = calloc(1, sizeof(*c));

	if (!c) { /* nothing would end it */
		shutdown(info->connect_fd, SHUT_RDWR);
		return;
	}
	c->fd = info->connect_fd;
	c->deadline_ns = deadline_after(s->options.request_ms);
	if (!s->connections) {
		sd_event_source_set_time_relative(s->sweep, SWEEP_US);
		sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
	}
	DL_APPEND(s->connections, c);
	s->options.counters->connections++;
	*context = c;
	c->client = http_client_of(c->fd, HTTP_ROLE_NONE);
	c->has_place = !http_places_take(s->places, &c->client);
	if (!c->has_place) {
		s->options.counters->refused[HTTP_REFUSED_CONNECTION]++;
		connection_cut(c);
	}
}

static void connection_forget(struct http_server *s, struct http_connection *c)
{
	if (!c->has_begun && !c->is_cut)
		s->options.counters->refused[HTTP_REFUSED_NO_REQUEST]++;
	if (c->has_place)
		http_places_leave(s->places, &c->client);
	s->options.counters->connections--;
	DL_DELETE(s->connections, c);
	free(c);
}

void connections_note(void *userdata, struct MHD_Connection *mhd, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_begin(userdata, mhd, context);
	} else if (*context) {
		connection_forget(userdata, *context);
		*context = NULL;
	}
}

/* NULL: there was no memory for it. */
static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void connection_set(struct MHD_Connection *mhd, uint64_t deadline_ns, bool is_idle)
{
	struct http_connection *c = connection_of(mhd);

	if (!c || c->is_cut)
		return;
	c->has_begun = true;
	c->deadline_ns = deadline_ns;
	c->is_idle = is_idle;
}

bool connection_is_cut(struct MHD_Connection *mhd)
{
	const struct http_connection *c = connection_of(mhd);

	return !c || c->is_cut;
}

void connection_set_deadline(struct MHD_Connection *mhd, uint64_t deadline_ns)
{
	connection_set(mhd, deadline_ns, false);
}

void connection_begin_request(struct http_server *s, struct MHD_Connection *mhd)
{
	connection_set(mhd, deadline_after(s->options.request_ms), false);
}

void connection_rest(struct http_server *s, struct MHD_Connection *mhd)
{
	connection_set(mhd, deadline_after(s->options.idle_ms), true);
}

int connection_fd(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
