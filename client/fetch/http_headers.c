/* SPDX-License-Identifier: MIT */
#include "client/fetch/http_headers.h"

#include <string.h>

#include "common/cleanup.h"

#define BLANKS " \t"
/* Of a name: RFC 9110, section 5.6.2. */
#define TOKEN "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* They are of how a request is sent, or of a body that the user has not made. */
static bool is_our_header(const char *name, size_t length)
{
	static const char *const ours[] = {
		"Accept-Encoding",
		"Connection",
		"Content-Encoding",
		"Content-Length",
		"Content-Type",
		"Expect",
		"Host",
		"TE",
		"Trailer",
		"Upgrade",
		"Transfer-Encoding",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strlen(ours[i]) == length && strncasecmp(ours[i], name, length) == 0)
			return true;
	return false;
}

bool http_header_is_value(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((text[i] < ' ' && text[i] != '\t') || text[i] > '~')
			return false;
	return length > 0;
}

/* Why the line is refused, or NULL. */
static const char *http_header_trouble(const char *line, size_t length)
{
	size_t name = strspn(line, TOKEN), value = name + 1;

	if (!name || name >= length || line[name] != ':')
		return "is not 'Name: value'";
	if (is_our_header(line, name))
		return "sets what the request itself sets";
	while (value < length && strchr(BLANKS, line[value]))
		value++;
	if (value == length)
		return "has no value";
	return http_header_is_value(line + value, length - value)
		       ? NULL
		       : "has a character that is not printable ASCII";
}

/* Cuts off blanks at both ends, and what ends lines elsewhere. */
static size_t http_header_trim(const char **line, size_t length)
{
	const char *end = *line + length;

	if (end > *line && end[-1] == '\r')
		end--;
	while (end > *line && strchr(BLANKS, end[-1]))
		end--;
	while (*line < end && strchr(BLANKS, **line))
		++*line;
	return (size_t)(end - *line);
}

bool http_headers_next(struct http_headers *h, const char **ret, size_t *ret_length)
{
	while (*h->rest && !h->trouble) {
		const char *line = h->rest;
		size_t length = strcspn(line, "\n");

		h->rest += length + (line[length] == '\n');
		h->line++;
		length = http_header_trim(&line, length);
		if (!length || *line == '#')
			continue;
		h->trouble = h->n++ < HTTP_HEADERS_MAX_N ? http_header_trouble(line, length)
							 : "is one header too many";
		*ret = line;
		*ret_length = length;
		return !h->trouble;
	}
	return false;
}
