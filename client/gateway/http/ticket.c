/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/ticket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "client/gateway/http/credentials.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/span.h"

static int ticket_make_secret(char ret[HTTP_SECRET_SIZE])
{
	uint8_t bytes[HTTP_SECRET_BITS / 8];

	/* random(4): never cut short, of up to 256 bytes. */
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_origin(-errno);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int http_ticket_init(struct http_ticket *t, uint16_t port)
{
	if (port)
		snprintf(t->name, sizeof(t->name), "profd-%u", port);
	else
		snprintf(t->name, sizeof(t->name), "profd");
	return ticket_make_secret(t->token) ?: ticket_make_secret(t->cookie);
}

bool http_ticket_redeem(struct http_ticket *t, const char *token)
{
	if (!*t->token || !http_secret_equal(t->token, token))
		return false;
	explicit_bzero(t->token, sizeof(t->token));
	return true;
}

bool http_ticket_is_shown(const struct http_ticket *t, const char *cookies)
{
	struct span rest = {cookies ?: "", cookies ? strlen(cookies) : 0}, pair, name;
	bool is_shown = false;

	while (span_cut(&rest, ';', &pair)) {
		char value[HTTP_SECRET_SIZE];

		pair = span_trim(pair);
		span_cut(&pair, '=', &name);
		if (!span_is(name, t->name) || pair.length != sizeof(value) - 1)
			continue;
		memcpy(value, pair.at, pair.length);
		value[pair.length] = '\0';
		is_shown |= http_secret_equal(t->cookie, value);
	}
	return is_shown;
}

void http_ticket_print_cookie(const struct http_ticket *t, char ret[HTTP_TICKET_HEADER_SIZE])
{
	snprintf(ret, HTTP_TICKET_HEADER_SIZE, "%s=%s; Path=/; HttpOnly; SameSite=Strict", t->name,
		 t->cookie);
}
