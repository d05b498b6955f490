/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/target.h"

#include <ctype.h>
#include <string.h>

#include "common/span.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Appends @raw, decoded, and a NUL at *to. False: it cannot be that. */
static bool target_decode(struct span raw, bool is_query, char **to)
{
	for (size_t i = 0; i < raw.length; i++) {
		char c = raw.at[i];

		if (c == '%') {
			int high = i + 2 < raw.length ? hex_digit(raw.at[i + 1]) : -1;
			int low = high >= 0 ? hex_digit(raw.at[i + 2]) : -1;

			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && is_query) {
			c = ' ';
		}
		if (iscntrl((unsigned char)c))
			return false;
		*(*to)++ = c;
	}
	*(*to)++ = '\0';
	return true;
}

static int target_add_segment(struct http_target *t, struct span raw, char **to)
{
	const char *segment = *to;

	if (t->n_segments == HTTP_SEGMENTS_MAX)
		return HTTP_TARGET_E_TOO_LONG;
	if (!raw.length || !target_decode(raw, false, to) || strcmp(segment, ".") == 0 ||
	    strcmp(segment, "..") == 0)
		return HTTP_TARGET_E_MALFORMED;
	t->segments[t->n_segments++] = segment;
	return HTTP_TARGET_E_OK;
}

static int target_add_param(struct http_target *t, struct span raw, char **to)
{
	struct http_param param;
	struct span name;

	if (!raw.length)
		return HTTP_TARGET_E_OK;
	if (t->n_params == HTTP_PARAMS_MAX)
		return HTTP_TARGET_E_TOO_LONG;
	span_cut(&raw, '=', &name);
	param.name = *to;
	if (!target_decode(name, true, to))
		return HTTP_TARGET_E_MALFORMED;
	t->is_repeated |= http_target_param(t, param.name) != NULL;
	param.value = *to;
	if (!target_decode(raw, true, to))
		return HTTP_TARGET_E_MALFORMED;
	t->params[t->n_params++] = param;
	return HTTP_TARGET_E_OK;
}

int http_target_parse(const char *raw, size_t length, struct http_target *ret)
{
	struct span query = {raw, length}, path, part;
	char *to = ret->text;
	int r = HTTP_TARGET_E_OK;

	ret->n_segments = ret->n_params = 0;
	ret->is_repeated = false;
	/* A parameter without `=` takes a byte more than it has. */
	if (length + HTTP_PARAMS_MAX + 1 > HTTP_TARGET_MAX)
		return HTTP_TARGET_E_TOO_LONG;
	if (!length || raw[0] != '/' || memchr(raw, '#', length))
		return HTTP_TARGET_E_MALFORMED;
	span_cut(&query, '?', &path);
	path.at++;
	path.length--;
	/* Also what is behind the last slash. */
	for (bool more = path.length; more && !r;) {
		more = memchr(path.at, '/', path.length);
		span_cut(&path, '/', &part);
		r = target_add_segment(ret, part, &to);
	}
	while (!r && span_cut(&query, '&', &part))
		r = target_add_param(ret, part, &to);
	return r;
}

const char *http_target_param(const struct http_target *target, const char *name)
{
	for (size_t i = 0; i < target->n_params; i++)
		if (strcmp(target->params[i].name, name) == 0)
			return target->params[i].value;
	return NULL;
}

/* Text that is being made; what does not fit is counted. */
struct target_print {
	char *to;
	size_t size, length;
};

static void target_put(struct target_print *p, char c)
{
	if (p->length + 1 < p->size)
		p->to[p->length] = c;
	p->length++;
}

/* RFC 3986, section 2.3: all but unreserved characters are encoded. */
static void target_put_encoded(struct target_print *p, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (isalnum(c) || strchr("-._~", c)) {
			target_put(p, (char)c);
			continue;
		}
		target_put(p, '%');
		target_put(p, digits[c >> 4]);
		target_put(p, digits[c & 15]);
	}
}

size_t http_target_print(const struct http_target *target, const char *without, char *ret,
			 size_t size)
{
	struct target_print p = {ret, size, 0};
	char separator = '?';

	for (size_t i = 0; i < target->n_segments; i++) {
		target_put(&p, '/');
		target_put_encoded(&p, target->segments[i]);
	}
	if (!target->n_segments)
		target_put(&p, '/');
	for (size_t i = 0; i < target->n_params; i++) {
		const struct http_param *param = &target->params[i];

		if (strcmp(param->name, without) == 0)
			continue;
		target_put(&p, separator);
		target_put_encoded(&p, param->name);
		target_put(&p, '=');
		target_put_encoded(&p, param->value);
		separator = '&';
	}
	if (size)
		ret[p.length < size ? p.length : size - 1] = '\0';
	return p.length;
}

bool http_target_matches(const struct http_target *target, const char *pattern,
			 const char **ret_wild)
{
	struct span rest = {pattern + 1, strlen(pattern + 1)}, part;
	const char *wild = NULL;
	size_t i = 0;

	for (; span_cut(&rest, '/', &part); i++) {
		if (i == target->n_segments)
			return false;
		if (span_is(part, "*"))
			wild = target->segments[i];
		else if (!span_is(part, target->segments[i]))
			return false;
	}
	if (i != target->n_segments)
		return false;
	*ret_wild = wild;
	return true;
}
