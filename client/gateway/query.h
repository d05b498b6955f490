/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_QUERY_H
#define PROFD_CLIENT_GATEWAY_QUERY_H

/*
 * Which samples a request is for: of the machine, or below /pid/N/ or /service/S/; either those of
 * the next seconds, or what the store has of a range. Pure.
 */
#include <stdint.h>

#include "client/gateway/http/http.h"

#define QUERY_SECONDS_STANDARD 30u /* net/http/pprof's */
#define QUERY_SECONDS_MAX      600u

enum query_scope { QUERY_MACHINE, QUERY_PID, QUERY_SERVICE };

struct query {
	enum query_scope scope;
	int64_t pid;
	const char *service;         /* the request's */
	unsigned seconds;            /* 0: the range */
	uint64_t since_ns, until_ns; /* Unix time; 0: no bound */
};

enum {
	QUERY_E_OK,
	QUERY_E_BAD, /* see the message */
};

int query_parse_scope(const struct http_request *request, struct query *ret,
		      struct http_message *message);
/*
 * The same, with the parameters `seconds`, or `since` and `until`; others are ignored. Of one that
 * is given several times the first counts, as in Go's net/http.
 */
int query_parse(const struct http_request *request, uint64_t now_ns, struct query *ret,
		struct http_message *message);

#endif
