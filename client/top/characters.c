/* SPDX-License-Identifier: MIT */
/* A name is held against what is looked for from each of its characters on, as they are in lower
 * case. */
#include "client/top/characters.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "common/utf8.h"

#define BEYOND_UNICODE UINT32_C(0x110000)

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
