/* SPDX-License-Identifier: MIT */
#include "client/top/characters.h"

#include <locale.h>
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

uint32_t character_lower(uint32_t code)
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
