/* SPDX-License-Identifier: MIT */
/*
 * The name is shortened in place, in rounds, until it fits: brackets are emptied, then namespaces
 * taken off. Names of operators hold signs that open and close nothing.
 */
#include "client/top/fit_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "client/top/characters.h"

#define OPERATOR   "operator"
#define LENGTH_MAX 4096 /* of names that are looked into: it takes time by the square of it */

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* How long the name of an operator is that begins at @at: its signs open and close nothing. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const signs[] = {"()", "<=>", "<<=", ">>=", "->*", "<<",
					    ">>", "<=",  ">=",  "->",  "<",   ">"};
	size_t n = strlen(OPERATOR);

	if (strncmp(at, OPERATOR, n) != 0 || (at > name && is_word_character(at[-1])))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strncmp(at + n, signs[i], strlen(signs[i])) == 0)
			return n + strlen(signs[i]);
	return 0;
}

/* The end of what @at opens; NULL: nothing closes it. */
static const char *find_closing(const char *name, const char *at)
{
	size_t depth = 0, skip;

	for (; *at; at++) {
		skip = operator_length(name, at);
		if (skip) {
			at += skip - 1;
			continue;
		}
		/* "->" is in the types of closures. */
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == ')' || (*at == '>' && at[-1] != '-')) && depth && !--depth)
			return at;
	}
	return NULL;
}

/* In place: what stands in @open goes, but where it begins the name or a part of it. */
static void empty_brackets(char *name, char open)
{
	const char *behind = NULL; /* an operator's name */
	char *out = name;

	for (const char *at = name; *at; at++) {
		size_t skip = operator_length(name, at);
		const char *end = NULL;

		if (skip) {
			memmove(out, at, skip);
			out += skip;
			at += skip - 1;
			behind = at + 1;
			continue;
		}
		if (*at == open && at > name &&
		    (is_word_character(at[-1]) || at[-1] == '>' || at == behind))
			end = find_closing(name, at);
		*out++ = *at;
		if (!end)
			continue;
		*out++ = *end;
		at = end;
	}
	*out = '\0';
}

/* The name without its outermost namespace; NULL: it has none. */
static const char *inner_name(const char *name)
{
	for (const char *at = name; *at; at++) {
		const char *end = *at == '<' || *at == '(' ? find_closing(name, at) : NULL;

		if (operator_length(name, at) || *at == ' ')
			return NULL;
		if (end)
			at = end;
		else if (at > name && strncmp(at, "::", 2) == 0 && at[2])
			return at + 2;
	}
	return NULL;
}

char *fit_name(const char *name, size_t columns)
{
	char *ret = strdup(name);
	const char *rest;

	if (!ret || strlen(ret) > LENGTH_MAX)
		return ret;
	for (const char *open = "<("; *open && characters_columns(ret) > columns; open++)
		empty_brackets(ret, *open);
	while (characters_columns(ret) > columns && (rest = inner_name(ret)))
		memmove(ret, rest, strlen(rest) + 1);
	return ret;
}
