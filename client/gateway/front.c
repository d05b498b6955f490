/* SPDX-License-Identifier: MIT */
/*
 * A door is a listening socket and the server behind it. Doors change with the address and the
 * certificate only: the old one is retired, which lets its requests end. What all doors share, what
 * is served and who may ask for it, the front has.
 */
#include "client/gateway/front.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "client/gateway/http/file.h"
#include "client/gateway/http/server.h"
#include "client/gateway/routes.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/text_print.h"

#define RETIRED_MAX 4u

/* An address with its certificate, and the server there. */
struct door {
	struct door *prev, *next;
	struct front *front;
	struct http_listener *listener; /* NULL: another one has it */
	struct http_file *certificate, *key;
	struct http_server *server;
};

/* Files of a configuration. */
struct setup {
	struct http_credentials *credentials;
	struct http_file *certificate, *key;
	struct texts allowed_hosts;
};

struct front {
	sd_event *loop;
	const struct exports *exports;
	struct served *served;     /* NULL: nothing was served yet */
	struct setup setup;        /* without the door's files */
	struct http_access access; /* that of `setup`; of all doors */
	struct door *door;         /* NULL: nothing is served */
	struct door *retired;      /* they end by themselves, the oldest first */
	unsigned n_retired;
};

static char *const no_hosts[] = {NULL};

static int front_complain(struct http_message *message, const char *why)
{
	snprintf(message->text, sizeof(message->text), "%s", why);
	return FRONT_E_BAD;
}

/* What an address needs that others than this machine reach. */
static int front_check(const struct config *c, struct http_message *message)
{
	bool has_certificate = *c->http_tls_certificate, has_key = *c->http_tls_key;
	struct http_place place;
	int r = http_place_parse(c->http_listen, &place, message);

	if (r)
		return FRONT_E_BAD;
	if (place.any_port)
		return front_complain(message, "listen has port 0");
	if (has_certificate != has_key)
		return front_complain(message, "tls_certificate and tls_key must be set together");
	if (has_key && place.path)
		return front_complain(message, "tls_certificate is not for a Unix socket");
	if (place.path && *c->http_credentials_file)
		return front_complain(message, "credentials_file is not for a Unix socket, which "
					       "its mode and group protect");
	if (place.is_local)
		return FRONT_E_OK;
	if (!has_key)
		return front_complain(message, "other machines are served with tls_certificate and "
					       "tls_key only");
	if (!*c->http_credentials_file)
		return front_complain(message,
				      "other machines are served with credentials_file only");
	return FRONT_E_OK;
}

/* --- the files of a configuration --------------------------------------------------------------
 */

static int setup_load(struct setup *s, const struct config *c, struct http_message *message)
{
	int r = 0;

	if (*c->http_credentials_file)
		r = http_credentials_load(&s->credentials, c->http_credentials_file, message);
	if (!r && *c->http_tls_certificate)
		r = http_file_read_public(&s->certificate, c->http_tls_certificate, message)
			    ?: http_file_read(&s->key, c->http_tls_key, message);
	for (char **host = c->http_allowed_hosts; *host && !r; host++)
		r = texts_add(&s->allowed_hosts, strdup(*host));
	return r;
}

static void setup_deinit(struct setup *s)
{
	http_credentials_free(s->credentials);
	http_file_free(s->certificate);
	http_file_free(s->key);
	texts_deinit(&s->allowed_hosts);
}

/* --- doors --------------------------------------------------------------------------------------
 */

static void door_free(struct door *d)
{
	if (!d)
		return;
	http_server_free(d->server);
	http_listener_free(d->listener);
	http_file_free(d->certificate);
	http_file_free(d->key);
	free(d);
}
DEFINE_CLEANUP(struct door *, door_free)

static bool files_are_equal(const struct http_file *a, const struct http_file *b)
{
	return a && b ? strcmp(a->text, b->text) == 0 : a == b;
}

static bool door_is_at(const struct door *d, const struct config *c)
{
	return d && strcmp(http_listener_text(d->listener), c->http_listen) == 0;
}

static int door_start(struct door *d, struct front *f, const struct http_listener *listener,
		      struct http_message *message)
{
	const struct http_server_options options = {
		.loop = f->loop,
		.listener = listener,
		.access = &f->access,
		.counters = served_counters(f->served),
		.routes = routes,
		.userdata = f->served,
		.certificate = d->certificate ? d->certificate->text : NULL,
		.key = d->key ? d->key->text : NULL,
	};

	return http_server_new(&d->server, &options, message);
}

/* At the same address, the old one's socket becomes the new one's. @s loses its files. */
static int door_new(struct door **ret, struct front *f, struct setup *s, const struct config *c,
		    struct http_message *message)
{
	cleanup(door_freep) struct door *d = calloc(1, sizeof(*d));
	struct door *old = door_is_at(f->door, c) ? f->door : NULL;
	int r = 0;

	if (!d)
		return error_origin(-ENOMEM);
	d->front = f;
	d->certificate = steal_ptr(&s->certificate);
	d->key = steal_ptr(&s->key);
	if (!old)
		r = http_listener_new(&d->listener, c->http_listen, c->store_group, message);
	if (r)
		return r == HTTP_LISTENER_E_ABSENT ? FRONT_E_ABSENT : r;
	r = door_start(d, f, old ? old->listener : d->listener, message);
	if (r)
		return r;
	if (old)
		d->listener = steal_ptr(&old->listener);
	*ret = steal_ptr(&d);
	return 0;
}

static void front_drop_retired(struct front *f, struct door *d)
{
	DL_DELETE(f->retired, d);
	f->n_retired--;
	door_free(d);
}

static void door_note_drained(void *userdata)
{
	struct door *d = userdata;

	front_drop_retired(d->front, d);
}

static void front_retire_door(struct front *f)
{
	struct door *d = steal_ptr(&f->door);

	if (!d)
		return;
	if (f->n_retired == RETIRED_MAX)
		front_drop_retired(f, f->retired);
	DL_APPEND(f->retired, d);
	f->n_retired++;
	http_server_retire(d->server, door_note_drained, d);
	http_listener_free(steal_ptr(&d->listener));
}

/* --- the interface ------------------------------------------------------------------------------
 */

int front_new(struct front **ret, sd_event *loop, const struct exports *exports)
{
	struct front *f = calloc(1, sizeof(*f));

	if (!f)
		return error_origin(-ENOMEM);
	f->loop = sd_event_ref(loop);
	f->exports = exports;
	f->access.allowed_hosts = no_hosts;
	*ret = f;
	return 0;
}

static void front_set_access(struct front *f, struct setup *s)
{
	setup_deinit(&f->setup);
	f->setup = *s;
	*s = (struct setup){0};
	f->access.credentials = f->setup.credentials;
	f->access.allowed_hosts = f->setup.allowed_hosts.n ? f->setup.allowed_hosts.all : no_hosts;
}

static int front_open_door(struct front *f, const struct config *c, struct setup *s,
			   struct http_message *message)
{
	struct door *door = NULL;
	int r = 0;

	if (door_is_at(f->door, c) && files_are_equal(f->door->certificate, s->certificate) &&
	    files_are_equal(f->door->key, s->key))
		return 0;
	if (!f->served) {
		r = served_new(&f->served, f->loop, c->control_socket);
		if (!r)
			served_set_exports(f->served, f->exports);
	}
	if (!r)
		r = door_new(&door, f, s, c, message);
	if (r)
		return r;
	front_retire_door(f);
	f->door = door;
	return 0;
}

int front_configure(struct front *f, const struct config *config, struct http_message *message)
{
	cleanup(setup_deinit) struct setup s = {0};
	int r;

	if (!*config->http_listen) {
		front_retire_door(f);
		return FRONT_E_OK;
	}
	r = front_check(config, message)
		    ?: setup_load(&s, config, message)
		    ?: front_open_door(f, config, &s, message)
		    ?: served_set_functions(f->served, config->metrics_functions);
	if (r)
		return r < 0 || r == FRONT_E_ABSENT ? r : FRONT_E_BAD;
	front_set_access(f, &s);
	return FRONT_E_OK;
}

void front_free(struct front *f)
{
	if (!f)
		return;
	door_free(f->door);
	while (f->retired)
		front_drop_retired(f, f->retired);
	served_free(f->served);
	setup_deinit(&f->setup);
	sd_event_unref(f->loop);
	free(f);
}
