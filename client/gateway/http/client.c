/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/client.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "client/gateway/http/guard.h"

struct http_client http_client_of(int fd, enum http_role role)
{
	struct http_client client = {.family = AF_UNSPEC, .role = (uint16_t)role};
	struct sockaddr_storage peer = {0};
	socklen_t length = sizeof(peer);
	struct ucred user = {0};

	if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0)
		return client;
	client.family = peer.ss_family;
	if (peer.ss_family == AF_UNIX) {
		length = sizeof(user);
		(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &length);
		memcpy(client.id, &user.uid, sizeof(user.uid));
	} else if (http_address_is_local((const struct sockaddr *)&peer)) {
		client.id[0] = 1;
	} else if (peer.ss_family == AF_INET) {
		memcpy(client.id, &((struct sockaddr_in *)&peer)->sin_addr, 4);
	} else if (peer.ss_family == AF_INET6) {
		memcpy(client.id, &((struct sockaddr_in6 *)&peer)->sin6_addr, sizeof(client.id));
	}
	return client;
}

bool http_clients_are_equal(const struct http_client *a, const struct http_client *b)
{
	return a->family == b->family && a->role == b->role &&
	       memcmp(a->id, b->id, sizeof(a->id)) == 0;
}
