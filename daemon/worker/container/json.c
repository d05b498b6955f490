/* SPDX-License-Identifier: MIT */
#include "daemon/worker/container/json.h"

#include <stdint.h>

#include "common/utf8.h"

static char json_peek(struct json *j)
{
	while (j->at < j->end && (span_is_blank(*j->at) || *j->at == '\n'))
		j->at++;
	return !j->is_bad && j->at < j->end ? *j->at : '\0';
}

static bool json_take(struct json *j, char c)
{
	if (json_peek(j) != c)
		return false;
	j->at++;
	return true;
}

static bool json_fail(struct json *j)
{
	j->is_bad = true;
	return false;
}

bool json_enter(struct json *j, char open)
{
	if (json_take(j, open))
		return true;
	json_skip(j);
	return false;
}

bool json_next(struct json *j, char open, size_t *n)
{
	if (j->is_bad || json_take(j, open == '{' ? '}' : ']'))
		return false;
	if (*n && !json_take(j, ','))
		return json_fail(j);
	++*n;
	return json_peek(j) ? true : json_fail(j);
}

/* @j is behind the first quote. */
static bool json_rest_of_text(struct json *j, struct span *ret)
{
	const char *start = j->at;

	for (; j->at < j->end; j->at++) {
		if (*j->at == '"') {
			*ret = (struct span){start, (size_t)(j->at++ - start)};
			return true;
		}
		if (*j->at == '\\' && j->at + 1 < j->end)
			j->at++;
	}
	return json_fail(j);
}

bool json_take_text(struct json *j, struct span *ret)
{
	if (json_take(j, '"'))
		return json_rest_of_text(j, ret);
	json_skip(j);
	return false;
}

bool json_key(struct json *j, struct span *ret)
{
	if (!json_take(j, '"') || !json_rest_of_text(j, ret) || !json_take(j, ':'))
		return json_fail(j);
	return true;
}

static void json_skip_word(struct json *j)
{
	const char *start = j->at;

	while (j->at < j->end && !span_is_blank(*j->at) && !memchr(",:[]{}\"\n", *j->at, 8))
		j->at++;
	if (j->at == start)
		json_fail(j);
}

void json_skip(struct json *j)
{
	struct span text;
	size_t depth = 0;

	do {
		char c = json_peek(j);

		if (c == '{' || c == '[') {
			depth++;
			j->at++;
		} else if (depth && (c == '}' || c == ']')) {
			depth--;
			j->at++;
		} else if (depth && (c == ',' || c == ':')) {
			j->at++;
		} else if (c == '"') {
			j->at++;
			json_rest_of_text(j, &text);
		} else {
			json_skip_word(j);
		}
	} while (depth && !j->is_bad);
}

/* --- escapes ---------------------------------------------------------------------------------- */

/* The four digits at @at. */
static bool json_read_hex(const char *at, const char *end, uint32_t *ret)
{
	uint32_t n = 0;

	if (end - at < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = memchr(digits, at[i], sizeof(digits) - 1);

		if (!digit)
			return false;
		n = n << 4 | ((uint32_t)(digit - digits) & 15);
	}
	*ret = n;
	return true;
}

/* The character whose escape begins behind "\u" at *@at; pairs of surrogates are one. */
static uint32_t json_read_code(const char **at, const char *end)
{
	uint32_t high, low;

	if (!json_read_hex(*at, end, &high))
		return 0xfffd;
	*at += 4;
	if (high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || end - *at < 6 || memcmp(*at, "\\u", 2) != 0 ||
	    !json_read_hex(*at + 2, end, &low) || low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*at += 6;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The escape at *@at, behind its backslash. */
static size_t json_read_escape(const char **at, const char *end, char ret[UTF8_SIZE])
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name = *at < end ? memchr(names, **at, sizeof(names) - 1) : NULL;

	if (name) {
		ret[0] = values[name - names];
		++*at;
		return 1;
	}
	if (*at < end && **at == 'u') {
		++*at;
		return utf8_write(ret, json_read_code(at, end));
	}
	return utf8_write(ret, 0xfffd);
}

size_t json_unescape(struct span escaped, char *ret, size_t size)
{
	const char *at = escaped.at, *end = escaped.length ? at + escaped.length : at;
	size_t n = 0;

	while (at < end) {
		char character[UTF8_SIZE] = {*at++};
		size_t length = 1;

		if (character[0] == '\\')
			length = json_read_escape(&at, end, character);
		if (n + length >= size)
			break;
		memcpy(ret + n, character, length);
		n += length;
	}
	ret[n] = '\0';
	return n;
}
