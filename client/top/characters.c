/* SPDX-License-Identifier: MIT */
/*
 * A name is held against what is looked for from each of its characters on, as they are in lower
 * case. It is shortened in place, in rounds, until it fits: brackets are emptied, then namespaces
 * taken off.
 */
#include "client/top/characters.h"

#include <ctype.h>
#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "common/cleanup.h"
#include "common/utf8.h"

#define BEYOND_UNICODE UINT32_C(0x110000)
#define LENGTH_MAX     4096 /* of names that are looked into: it takes time by the square of it */

void characters_begin(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
}

struct character character_at(const char *text)
{
	struct character c = {.columns = 1};
	bool is_harmless;
	int columns;

	c.n = utf8_next(text, &is_harmless);
	if (!utf8_character(text, c.n)) {
		c.code = BEYOND_UNICODE + (uint8_t)*text;
		return c;
	}
	c.code = utf8_code_point(text, c.n);
	c.is_printable = is_harmless;
	/* Negative: it has no glyph that the library knows of. */
	columns = c.code >= 0x80 && is_harmless ? wcwidth((wchar_t)c.code) : 1;
	c.columns = columns < 0 ? 1 : (unsigned)columns;
	return c;
}

static uint32_t character_lower(uint32_t code)
{
	return code < BEYOND_UNICODE ? (uint32_t)towlower((wint_t)code) : code;
}

size_t characters_columns(const char *text)
{
	size_t columns = 0;

	while (*text) {
		struct character c = character_at(text);

		columns += c.columns;
		text += c.n;
	}
	return columns;
}

/* --- names that are looked for ---------------------------------------------------------------- */

static bool has_capital(const char *text)
{
	while (*text) {
		struct character c = character_at(text);

		if (character_lower(c.code) != c.code)
			return true;
		text += c.n;
	}
	return false;
}

/* @name begins with @filter, which is of lower case. */
static bool name_begins_with(const char *name, const char *filter)
{
	while (*filter) {
		struct character wanted = character_at(filter), c;

		if (!*name)
			return false;
		c = character_at(name);
		if (character_lower(c.code) != wanted.code)
			return false;
		filter += wanted.n;
		name += c.n;
	}
	return true;
}

bool name_filter_matches(const char *filter, const char *name)
{
	if (has_capital(filter))
		return strstr(name, filter);
	for (; *name; name += character_at(name).n)
		if (name_begins_with(name, filter))
			return true;
	return !*filter;
}

/* --- names in little room --------------------------------------------------------------------- */

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The end of what @at opens; NULL: nothing closes it. */
static const char *find_closing(const char *at)
{
	size_t depth = 0;

	for (; *at; at++) {
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
	char *out = name;

	for (const char *at = name; *at; at++) {
		/* Also what follows the signs of operators. */
		bool follows = at > name && (is_word_character(at[-1]) || strchr("<>)", at[-1]));
		const char *end = *at == open && follows ? find_closing(at) : NULL;

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
		const char *end = *at == '<' || *at == '(' ? find_closing(at) : NULL;

		if (*at == ' ')
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
