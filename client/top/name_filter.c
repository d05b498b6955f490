/* SPDX-License-Identifier: MIT */
#include "client/top/name_filter.h"

#include <string.h>

#include "client/top/characters.h"

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
