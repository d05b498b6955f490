/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "common/span.h"

#define HOST_MAX 255u

/* Cuts the port off HOST[:PORT]; of [ADDRESS], the brackets, too. False: it is neither. */
static bool guard_cut_port(const char *host, char ret[HOST_MAX + 1], bool *ret_is_bracketed)
{
	struct span name = {host, strlen(host)};
	const char *colon, *port;

	*ret_is_bracketed = *host == '[';
	if (*ret_is_bracketed) {
		colon = strchr(host, ']');
		if (!colon)
			return false;
		name = (struct span){host + 1, (size_t)(colon - host) - 1};
		port = colon + 1;
	} else {
		port = strchrnul(host, ':');
		name.length = (size_t)(port - host);
	}
	if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	if (!name.length || name.length > HOST_MAX)
		return false;
	memcpy(ret, name.at, name.length);
	ret[name.length] = '\0';
	return true;
}

static bool guard_is_address(const char *name, bool is_bracketed, const struct sockaddr *own)
{
	struct in6_addr address6;
	struct in_addr address;

	if (own->sa_family == AF_INET6 && is_bracketed) {
		const struct in6_addr *mine = &((const struct sockaddr_in6 *)own)->sin6_addr;

		return inet_pton(AF_INET6, name, &address6) == 1 &&
		       memcmp(&address6, mine, sizeof(address6)) == 0;
	}
	if (own->sa_family == AF_INET && !is_bracketed)
		return inet_pton(AF_INET, name, &address) == 1 &&
		       address.s_addr == ((const struct sockaddr_in *)own)->sin_addr.s_addr;
	return false;
}

bool http_address_is_local(const struct sockaddr *address)
{
	if (address->sa_family == AF_UNIX)
		return true;
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return address->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

bool http_host_is_own(const char *host, const struct sockaddr *own, char *const *allowed)
{
	char name[HOST_MAX + 1];
	bool is_bracketed;

	if (!guard_cut_port(host, name, &is_bracketed))
		return false;
	if (guard_is_address(name, is_bracketed, own))
		return true;
	if (http_address_is_local(own) && !is_bracketed && strcasecmp(name, "localhost") == 0)
		return true;
	for (; *allowed; allowed++)
		if (strcasecmp(name, *allowed) == 0)
			return true;
	return false;
}

bool http_is_cross_site(const struct http_origin *h)
{
	const char *scheme_end;

	if (h->sec_fetch_site && strcmp(h->sec_fetch_site, "same-origin") != 0 &&
	    strcmp(h->sec_fetch_site, "none") != 0)
		return true;
	if (!h->origin)
		return false;
	scheme_end = strstr(h->origin, "://");
	return !h->host || !scheme_end || strcasecmp(scheme_end + 3, h->host) != 0;
}

bool http_is_link(const char *mode, const char *destination)
{
	return mode && strcmp(mode, "navigate") == 0 && destination &&
	       strcmp(destination, "document") == 0;
}
