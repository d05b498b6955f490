/* SPDX-License-Identifier: MIT */
#include "client/export/judge.h"

#include <string.h>

#include "common/cleanup.h"

const char *export_find_text(const char *body, size_t length, const char *text, size_t *ret_rest)
{
	const char *at = length ? memmem(body, length, text, strlen(text)) : NULL;

	*ret_rest = at ? length - (size_t)(at - body) : 0;
	return at;
}

/*
 * A server, or a proxy before it, that is busy, down, or does not know us or the URL has stored
 * nothing, and will once that is mended: it is no fault of the window. Faults that are not listed
 * are the request's from 400 on, the server's from 500 on.
 */
static enum export_verdict export_judge_status(unsigned status)
{
	static const unsigned temporary[] = {401, 403, 404, 405, 407, 408, 425, 429, 502, 503, 504};

	for (size_t i = 0; i < ARRAY_SIZE(temporary); i++)
		if (temporary[i] == status)
			return EXPORT_LATER;
	if (status >= 200 && status < 300)
		return EXPORT_STORED;
	if (status >= 300 && status < 400)
		return EXPORT_LATER;
	return status >= 400 && status < 500 ? EXPORT_REFUSED : EXPORT_UNKNOWN;
}

enum export_verdict export_judge(const struct export_rule *rules, size_t n, unsigned status,
				 const char *body, size_t length)
{
	size_t rest;

	for (size_t i = 0; i < n; i++)
		if (rules[i].status == status &&
		    (!*rules[i].text || export_find_text(body, length, rules[i].text, &rest)))
			return rules[i].verdict;
	return export_judge_status(status);
}
