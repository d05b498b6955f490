/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_TEXT_LINES_H
#define PROFD_CLIENT_FORMATS_TEXT_LINES_H

/*
 * Lines of a text in memory that is not NUL-terminated, and what readers of text formats take from
 * them: words, numbers, functions and call chains. Internal to client/formats; pure.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/digits.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

#define TEXT_MARK "\xef\xbb\xbf" /* U+FEFF: what editors put before UTF-8 */

struct text_span {
	const char *at, *end;
};

struct text_lines {
	const char *at, *end;
	size_t number, offset; /* lines, bytes that were taken */
};

struct text_line {
	struct text_span text; /* without newline and carriage return */
	size_t number, offset; /* from 1 on; of its first byte */
};

static inline size_t text_length(struct text_span span)
{
	return (size_t)(span.end - span.at);
}

/* Before the first line, of which TEXT_MARK is no part. */
static inline struct text_lines text_lines_of(const uint8_t *data, size_t length)
{
	size_t mark = length >= 3 && memcmp(data, TEXT_MARK, 3) == 0 ? 3 : 0;

	return (struct text_lines){.at = (const char *)data + mark,
				   .end = (const char *)data + length,
				   .offset = mark};
}

static inline bool text_next(struct text_lines *lines, struct text_line *ret)
{
	const char *newline, *end;

	if (lines->at >= lines->end)
		return false;
	newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	end = newline ? newline : lines->end;
	ret->text = (struct text_span){lines->at, end};
	ret->number = ++lines->number;
	ret->offset = lines->offset;
	if (end > lines->at && end[-1] == '\r')
		ret->text.end--;
	lines->offset += (size_t)(end - lines->at) + 1;
	lines->at = newline ? newline + 1 : lines->end;
	return true;
}

static inline bool text_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Without the blanks at both ends. */
static inline struct text_span text_trim(struct text_span span)
{
	while (span.at < span.end && text_is_blank(*span.at))
		span.at++;
	while (span.end > span.at && text_is_blank(span.end[-1]))
		span.end--;
	return span;
}

/*
 * The first word, and what is behind it in *rest. Empty: there is none. Never looks at what is
 * behind the word, so that a line costs its length, however it is made.
 */
static inline struct text_span text_word(struct text_span *rest)
{
	struct text_span word;

	while (rest->at < rest->end && text_is_blank(*rest->at))
		rest->at++;
	word.at = rest->at;
	while (rest->at < rest->end && !text_is_blank(*rest->at))
		rest->at++;
	word.end = rest->at;
	return word;
}

static inline bool text_is(struct text_span span, const char *text)
{
	return text_length(span) == strlen(text) && memcmp(span.at, text, text_length(span)) == 0;
}

/* The whole of @span, in decimal digits, perhaps with a minus. */
static inline bool text_number(struct text_span span, int64_t *ret)
{
	bool minus = span.at < span.end && *span.at == '-';
	uint64_t value;

	span.at += minus;
	if (!digits_read(&span.at, span.end, 10, &value) || span.at != span.end ||
	    value > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = (int64_t)(minus ? 0 - value : value);
	return true;
}

/* The whole of @span, in hexadecimal digits, perhaps behind 0x. */
static inline bool text_hex(struct text_span span, uint64_t *ret)
{
	if (text_length(span) > 2 && span.at[0] == '0' && (span.at[1] | 0x20) == 'x')
		span.at += 2;
	return text_length(span) <= 16 && digits_read(&span.at, span.end, 16, ret) &&
	       span.at == span.end;
}

/* A function of which the name is all that is known. 0 or negative errno. */
static inline int text_add_function(struct profile *p, struct text_span name, uint32_t *ret)
{
	struct profile_function function = {0};
	int r = profile_add_string(p, name.at, text_length(name), &function.name);

	function.system_name = function.name;
	return r ? r : profile_add_function(p, &function, ret);
}

/* A growing call chain of locations, leaf first. */
struct frame_list {
	uint32_t *locations;
	size_t n, capacity;
};

static inline void frame_list_deinit(struct frame_list *list)
{
	free(list->locations);
}

static inline int frame_list_add(struct frame_list *list, uint32_t location)
{
	if (list->n == UINT32_MAX)
		return error_origin(-E2BIG);
	return room_append(&list->locations, &list->capacity, &list->n, location);
}

#endif
