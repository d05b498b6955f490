/* SPDX-License-Identifier: MIT */
/*
 * libdebuginfod follows redirects and lets nobody look at where they lead. But every connection is
 * made with connect(2), of an address that has been resolved: the one below takes the C library's
 * place in this program, for its libraries as well. The C library's own, for names, is another.
 */
#include "client/gateway/fetch/reach.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <curl/curl.h>

#include "common/cleanup.h"

#define URLS_VARIABLE "DEBUGINFOD_URLS"
#define PROXY_PORT    "1080" /* libcurl's, for proxies that name none */

static bool is_restricted; /* set once, before there are threads that connect */

static bool is_inner_4(uint32_t a)
{
	static const struct {
		uint32_t network;
		unsigned bits;
	} inner[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
		     {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0a80000, 16}, {0xe0000000, 3}};

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++)
		if ((a ^ inner[i].network) >> (32 - inner[i].bits) == 0)
			return true;
	return false;
}

static bool is_inner_6(const uint8_t a[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, zero[12],
			     nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	uint32_t last;

	memcpy(&last, a + 12, sizeof(last));
	if (memcmp(a, mapped, 12) == 0 || memcmp(a, zero, 12) == 0 || memcmp(a, nat64, 12) == 0)
		return is_inner_4(ntohl(last));
	/* Unique local, link-local and site-local, multicast. */
	return (a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && a[1] & 0x80) || a[0] == 0xff;
}

bool reach_is_inner(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return is_inner_4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
	return address->sa_family == AF_INET6 &&
	       is_inner_6(((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
}

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->sa_family != b->sa_family || a4->sin_port != b4->sin_port)
		return false;
	return a->sa_family == AF_INET
		       ? a4->sin_addr.s_addr == b4->sin_addr.s_addr
		       : memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* Whether @url's host has @address, with the port; NULL: any inner address, and no matter which. */
static bool url_leads_to(const char *url, const struct sockaddr *address)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	char *host = NULL, *port = NULL, *name;
	struct addrinfo *all = NULL;
	CURLU *parts = curl_url();
	bool found = false;

	if (parts && !curl_url_set(parts, CURLUPART_URL, url, CURLU_GUESS_SCHEME) &&
	    !curl_url_get(parts, CURLUPART_HOST, &host, 0)) {
		curl_url_get(parts, CURLUPART_PORT, &port, 0);
		name = host + (*host == '[');
		name[strcspn(name, "]")] = '\0';
		if (getaddrinfo(name, port ? port : PROXY_PORT, &hints, &all))
			all = NULL;
	}
	for (const struct addrinfo *a = all; a; a = a->ai_next)
		found |= address ? is_same(a->ai_addr, address) : reach_is_inner(a->ai_addr);
	if (all)
		freeaddrinfo(all);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(parts);
	return found;
}

static bool is_allowed(const struct sockaddr *address)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
					      "all_proxy", "ALL_PROXY"};
	const char *list = getenv(URLS_VARIABLE);
	cleanup(freep) char *urls = strdup(list ? list : "");
	bool allowed = false;
	char *next = NULL;

	for (char *url = urls ? strtok_r(urls, " ", &next) : NULL; url && !allowed;
	     url = strtok_r(NULL, " ", &next))
		allowed = url_leads_to(url, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(proxies) && !allowed; i++)
		allowed = getenv(proxies[i]) && url_leads_to(getenv(proxies[i]), address);
	return allowed;
}

void reach_restrict(void)
{
	is_restricted = true;
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address,
						   socklen_t length)
{
	/* One that is too short for its family, the kernel refuses. */
	bool whole = length >= sizeof(struct sockaddr_in) &&
		     (address->sa_family != AF_INET6 || length >= sizeof(struct sockaddr_in6));

	if (is_restricted && whole && reach_is_inner(address) && !is_allowed(address)) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_connect, fd, address, length);
}
