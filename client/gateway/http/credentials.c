/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/credentials.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/gateway/http/file.h"
#include "common/base64.h"
#include "common/error.h"
#include "common/span.h"

#define BEARER "Bearer "
#define BASIC  "Basic "
/* NAME:SECRET in base64. */
#define BASIC_MAX BASE64_LENGTH(HTTP_LINE_MAX)

struct credential {
	enum http_role role;
	char bearer[HTTP_LINE_MAX + 1], basic[BASIC_MAX + 1];
};

struct http_credentials {
	size_t n;
	struct credential all[HTTP_CREDENTIALS_MAX];
};

/* The next word of a line. */
static struct span credentials_next_word(struct span *line)
{
	struct span word;

	*line = span_trim(*line);
	for (word = (struct span){line->at, 0}; word.length < line->length; word.length++)
		if (span_is_blank(line->at[word.length]))
			break;
	line->at += word.length;
	line->length -= word.length;
	return word;
}

static bool credentials_is_text(struct span word)
{
	for (size_t i = 0; i < word.length; i++)
		if (word.at[i] <= ' ' || word.at[i] > '~')
			return false;
	return word.length;
}

/* NULL, or what is wrong with a line, which is not empty. */
static const char *credentials_add(struct http_credentials *c, struct span line)
{
	struct span role, name, secret;
	struct credential *new = &c->all[c->n];
	char pair[HTTP_LINE_MAX + 1];
	int n;

	if (c->n == HTTP_CREDENTIALS_MAX)
		return "there are too many lines";
	if (line.length > HTTP_LINE_MAX)
		return "the line is too long";
	role = credentials_next_word(&line);
	name = credentials_next_word(&line);
	secret = credentials_next_word(&line);
	if (!span_is(role, "metrics") && !span_is(role, "read"))
		return "a line is: metrics or read, a name, a secret";
	if (!credentials_is_text(name) || !credentials_is_text(secret) || span_trim(line).length)
		return "a line is: role, name, secret; of printable ASCII characters";
	if (memchr(name.at, ':', name.length))
		return "a name has no colon";
	if (secret.length < HTTP_SECRET_MIN)
		return "the secret has less than 16 characters";
	n = snprintf(pair, sizeof(pair), "%.*s:%.*s", (int)name.length, name.at, (int)secret.length,
		     secret.at);
	base64_encode(pair, (size_t)n, new->basic);
	snprintf(new->bearer, sizeof(new->bearer), "%.*s", (int)secret.length, secret.at);
	new->role = span_is(role, "read") ? HTTP_ROLE_READ : HTTP_ROLE_METRICS;
	c->n++;
	explicit_bzero(pair, sizeof(pair));
	return NULL;
}

int http_credentials_parse(struct http_credentials **ret, const char *text, size_t length,
			   const char *name, struct http_message *message)
{
	cleanup(http_credentials_freep) struct http_credentials *c = calloc(1, sizeof(*c));
	struct span rest = {text, length}, line;

	if (!c)
		return error_origin(-ENOMEM);
	for (unsigned number = 1; span_cut(&rest, '\n', &line); number++) {
		const char *fault;

		line = span_trim(line);
		if (!line.length || *line.at == '#')
			continue;
		fault = credentials_add(c, line);
		if (!fault)
			continue;
		snprintf(message->text, sizeof(message->text), "%.200s:%u: %s", name, number,
			 fault);
		return HTTP_CREDENTIALS_E_BAD;
	}
	if (!c->n) {
		snprintf(message->text, sizeof(message->text), "%.200s has no credentials", name);
		return HTTP_CREDENTIALS_E_BAD;
	}
	*ret = steal_ptr(&c);
	return HTTP_CREDENTIALS_E_OK;
}

int http_credentials_load(struct http_credentials **ret, const char *path,
			  struct http_message *message)
{
	cleanup(http_file_freep) struct http_file *file = NULL;
	int r = http_file_read(&file, path, message);

	if (r)
		return r < 0 ? r : HTTP_CREDENTIALS_E_BAD;
	return http_credentials_parse(ret, file->text, file->length, path, message);
}

void http_credentials_free(struct http_credentials *c)
{
	if (c)
		explicit_bzero(c, sizeof(*c));
	free(c);
}

bool http_secret_equal(const char *a, const char *b)
{
	size_t length = strlen(a);
	volatile unsigned char differ = 0;

	if (strlen(b) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

enum http_role http_credentials_find(const struct http_credentials *c, const char *authorization)
{
	enum http_role role = HTTP_ROLE_NONE;
	bool is_basic;

	if (!c || !authorization)
		return role;
	is_basic = strncasecmp(authorization, BASIC, strlen(BASIC)) == 0;
	if (!is_basic && strncasecmp(authorization, BEARER, strlen(BEARER)) != 0)
		return role;
	authorization += strlen(is_basic ? BASIC : BEARER);
	for (size_t i = 0; i < c->n; i++) {
		const struct credential *known = &c->all[i];

		if (http_secret_equal(is_basic ? known->basic : known->bearer, authorization) &&
		    known->role > role)
			role = known->role;
	}
	return role;
}
