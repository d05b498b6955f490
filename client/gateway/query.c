/* SPDX-License-Identifier: MIT */
#include "client/gateway/query.h"

#include <stdio.h>
#include <string.h>

#include "client/gateway/view/moment.h"
#include "common/units.h"

#define query_complain(message, ...) \
	(snprintf((message)->text, sizeof((message)->text), __VA_ARGS__), QUERY_E_BAD)

int query_parse_scope(const struct http_request *request, struct query *ret,
		      struct http_message *message)
{
	struct query q = {.scope = QUERY_MACHINE};
	uint64_t pid;

	if (request->wild && strcmp(request->target->segments[0], "pid") == 0) {
		if (units_parse_number(request->wild, &pid) || !pid || pid > INT32_MAX)
			return query_complain(message, "'%.40s' is no process id", request->wild);
		q.scope = QUERY_PID;
		q.pid = (int64_t)pid;
	} else if (request->wild) {
		q.scope = QUERY_SERVICE;
		q.service = request->wild;
	}
	*ret = q;
	return QUERY_E_OK;
}

static int query_parse_seconds(const char *text, struct query *q, struct http_message *message)
{
	uint64_t seconds;

	if (units_parse_number(text, &seconds) || !seconds || seconds > QUERY_SECONDS_MAX)
		return query_complain(message, "seconds is a number from 1 to %u, not '%.40s'",
				      QUERY_SECONDS_MAX, text);
	q->seconds = (unsigned)seconds;
	return QUERY_E_OK;
}

int query_parse(const struct http_request *request, uint64_t now_ns, struct query *ret,
		struct http_message *message)
{
	const char *seconds = http_target_param(request->target, "seconds");
	bool has_range = http_target_param(request->target, "since") ||
			 http_target_param(request->target, "until");
	struct query q;
	int r = query_parse_scope(request, &q, message);

	if (r)
		return r;
	if (seconds && has_range)
		return query_complain(message, "either seconds, or since and until");
	if (!has_range) {
		q.seconds = QUERY_SECONDS_STANDARD;
		r = seconds ? query_parse_seconds(seconds, &q, message) : QUERY_E_OK;
	} else {
		r = moment_parse(request->target, "since", now_ns, &q.since_ns, message)
			    ?: moment_parse(request->target, "until", now_ns, &q.until_ns, message);
		r = r ? QUERY_E_BAD : QUERY_E_OK;
	}
	if (r)
		return r;
	if (q.until_ns && q.until_ns < q.since_ns)
		return query_complain(message, "until is before since");
	*ret = q;
	return QUERY_E_OK;
}
