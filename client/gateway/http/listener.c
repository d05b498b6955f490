/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/gateway/http/guard.h"
#include "common/error.h"
#include "common/log.h"
#include "common/text_print.h"
#include "common/units.h"
#include "common/unixsock.h"

#define BACKLOG 128

struct http_listener {
	char *text;
	int fd;
	struct http_place place;
	dev_t path_dev; /* of the socket that we made */
	ino_t path_ino; /* 0: none */
};

static int listener_complain(struct http_message *message, const char *text, const char *why)
{
	snprintf(message->text, sizeof(message->text), "'%.150s' %s", text, why);
	return HTTP_LISTENER_E_BAD;
}

static int place_parse_address(const char *text, struct http_place *ret,
			       struct http_message *message)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->address;
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->address;
	const char *colon = strrchr(text, ':');
	bool is_bracketed = *text == '[';
	char host[64];
	uint64_t port;
	int n;

	if (!colon || colon == text || units_parse_number(colon + 1, &port) || port > UINT16_MAX)
		return listener_complain(message, text, "is neither a path nor ADDRESS:PORT");
	ret->any_port = !port;
	n = (int)(colon - text) - 2 * is_bracketed;
	if (is_bracketed && colon[-1] != ']')
		return listener_complain(message, text, "lacks its ]");
	snprintf(host, sizeof(host), "%.*s", n, text + is_bracketed);
	if (!is_bracketed && strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	if (is_bracketed && inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		ret->length = sizeof(*in6);
		return HTTP_LISTENER_E_OK;
	}
	if (!is_bracketed && inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		ret->length = sizeof(*in);
		return HTTP_LISTENER_E_OK;
	}
	return listener_complain(message, text,
				 "has no IP address before its port, such as 127.0.0.1 or [::1]");
}

int http_place_parse(const char *text, struct http_place *ret, struct http_message *message)
{
	struct http_place place = {0};
	int r;

	if (*text == '/') {
		place.path = text;
		place.address.ss_family = AF_UNIX;
		place.length = sizeof(sa_family_t);
	} else {
		r = place_parse_address(text, &place, message);
		if (r)
			return r;
	}
	place.is_local = http_address_is_local((const struct sockaddr *)&place.address);
	*ret = place;
	return HTTP_LISTENER_E_OK;
}

/*
 * It has mode 0600 until it belongs to the group. If that is our own, @owner has it already: the
 * unit lets nobody call lchown().
 */
static int listener_give_path(const struct http_listener *l, gid_t owner, const char *group,
			      struct http_message *message)
{
	const struct group *entry = group ? getgrnam(group) : NULL;
	const char *path = l->place.path;

	if (!entry)
		return HTTP_LISTENER_E_OK;
	if ((entry->gr_gid == owner || lchown(path, (uid_t)-1, entry->gr_gid) == 0) &&
	    chmod(path, 0660) == 0)
		return HTTP_LISTENER_E_OK;
	if (errno == EPERM) {
		log_warning("%s is open to its own user only: group %s is not one of ours", path,
			    group);
		return HTTP_LISTENER_E_OK;
	}
	/* user_namespaces(7): a group that is not mapped */
	if (errno == EINVAL) {
		snprintf(message->text, sizeof(message->text),
			 "'%.150s' cannot be given to group %.50s: it must be Group= of the unit",
			 path, group);
		return HTTP_LISTENER_E_BAD;
	}
	return listener_complain(message, path, strerrordesc_np(errno));
}

static int listener_open_path(struct http_listener *l, const char *group,
			      struct http_message *message)
{
	struct stat st;
	int r = unixsock_listen(l->place.path, 0600, (gid_t)-1, &l->fd);

	if (r == UNIXSOCK_E_IN_USE)
		return listener_complain(message, l->text, "is in use");
	if (r == UNIXSOCK_E_DENIED)
		return listener_complain(message, l->text, "cannot be created: permission denied");
	if (r == UNIXSOCK_E_BAD_PATH)
		return listener_complain(message, l->text, "is longer than 107 bytes");
	if (r == -ENOENT)
		return listener_complain(message, l->text,
					 "cannot be created: directory does not exist");
	if (r)
		return r;
	if (lstat(l->place.path, &st) < 0)
		return error_origin(-errno);
	l->path_dev = st.st_dev;
	l->path_ino = st.st_ino;
	return listener_give_path(l, st.st_gid, group, message);
}

static int listener_open_address(struct http_listener *l, struct http_message *message)
{
	const struct sockaddr *address = (const struct sockaddr *)&l->place.address;
	int on = 1;

	l->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return listener_complain(message, l->text, strerrordesc_np(errno));
	/* An IPv6 address that also stood for those of IPv4 would not be what was asked for. */
	if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (address->sa_family == AF_INET6 &&
	     setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(l->fd, address, l->place.length) < 0 || listen(l->fd, BACKLOG) < 0) {
		bool is_absent = errno == EADDRNOTAVAIL;

		listener_complain(message, l->text, strerrordesc_np(errno));
		return is_absent ? HTTP_LISTENER_E_ABSENT : HTTP_LISTENER_E_BAD;
	}
	return HTTP_LISTENER_E_OK;
}

int http_listener_new(struct http_listener **ret, const char *text, const char *group,
		      struct http_message *message)
{
	cleanup(http_listener_freep) struct http_listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->fd = -1;
	r = text_copy(&l->text, text) ?: http_place_parse(l->text, &l->place, message);
	if (r)
		return r;
	r = l->place.path ? listener_open_path(l, group, message)
			  : listener_open_address(l, message);
	if (r)
		return r;
	*ret = steal_ptr(&l);
	return HTTP_LISTENER_E_OK;
}

void http_listener_free(struct http_listener *l)
{
	struct stat st;

	if (!l)
		return;
	/* Unless another one has put its own there meanwhile. */
	if (l->path_ino && lstat(l->place.path, &st) == 0 && st.st_dev == l->path_dev &&
	    st.st_ino == l->path_ino)
		unlink(l->place.path);
	closep(&l->fd);
	free(l->text);
	free(l);
}

int http_listener_fd(const struct http_listener *l)
{
	return l->fd;
}

const char *http_listener_text(const struct http_listener *l)
{
	return l->text;
}

const struct http_place *http_listener_place(const struct http_listener *l)
{
	return &l->place;
}
