/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SPAN_H
#define PROFD_COMMON_SPAN_H

/* Pieces of a text that somebody else holds, without a NUL at their end. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *at;
	size_t length;
};

static inline bool span_starts(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return !n || (s.length >= n && memcmp(s.at, prefix, n) == 0);
}

static inline bool span_ends(struct span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return !n || (s.length >= n && memcmp(s.at + s.length - n, suffix, n) == 0);
}

static inline bool span_is(struct span s, const char *text)
{
	return s.length == strlen(text) && span_starts(s, text);
}

static inline bool span_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Without the blanks at both ends. */
static inline struct span span_trim(struct span s)
{
	for (; s.length && span_is_blank(*s.at); s.length--)
		s.at++;
	while (s.length && span_is_blank(s.at[s.length - 1]))
		s.length--;
	return s;
}

/* Cuts the text before the next @delimiter off *rest. False: nothing was left; *ret is empty. */
static inline bool span_cut(struct span *rest, char delimiter, struct span *ret)
{
	const char *end;

	*ret = *rest;
	if (!rest->length)
		return false;
	end = memchr(rest->at, delimiter, rest->length);
	ret->length = end ? (size_t)(end - rest->at) : rest->length;
	rest->at += ret->length + (end != NULL);
	rest->length -= ret->length + (end != NULL);
	return true;
}

#endif
