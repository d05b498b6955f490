/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/moment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/gateway/http/credentials.h"
#include "common/clock.h"
#include "common/units.h"

#define SECONDS_DIGITS_MAX  10u
#define FRACTION_DIGITS_MAX 9u

/* "1795262400", "1795262400.25": at most nanoseconds. */
static bool moment_parse_seconds(const char *text, uint64_t *ret_ns)
{
	size_t n = strspn(text, "0123456789"), n_fraction = 0;
	uint64_t value = 0;

	if (!n || n > SECONDS_DIGITS_MAX)
		return false;
	if (text[n] == '.')
		n_fraction = strspn(text + n + 1, "0123456789");
	if (n_fraction > FRACTION_DIGITS_MAX ||
	    (text[n] && (!n_fraction || text[n + 1 + n_fraction])))
		return false;
	for (size_t i = 0; i < n; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	for (size_t i = 0; i < FRACTION_DIGITS_MAX; i++)
		value = value * 10 + (i < n_fraction ? (uint64_t)(text[n + 1 + i] - '0') : 0);
	*ret_ns = value;
	return true;
}

int moment_parse(const struct http_target *target, const char *name, uint64_t now_ns,
		 uint64_t *ret_ns, struct http_message *message)
{
	const char *text = http_target_param(target, name);

	if (!text || moment_parse_seconds(text, ret_ns) ||
	    !units_parse_moment(text, now_ns, ret_ns))
		return MOMENT_E_OK;
	snprintf(message->text, sizeof(message->text),
		 "%s is a moment such as -10m, 14:03, 2026-11-21T14:03Z or Unix seconds, not "
		 "'%.40s'",
		 name, text);
	return MOMENT_E_BAD;
}
