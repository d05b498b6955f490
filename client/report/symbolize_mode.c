/* SPDX-License-Identifier: MIT */
#include "client/report/symbolize_mode.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

static bool symbolize_mode_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

/* False: it is no word for a place. */
static bool symbolize_mode_parse_place(const char *text, size_t length, struct symbolize_mode *mode)
{
	bool is_fast = symbolize_mode_is_word(text, length, "fastlocal");
	bool is_remote = symbolize_mode_is_word(text, length, "remote");

	if (!is_fast && !is_remote && !symbolize_mode_is_word(text, length, "local"))
		return false;
	mode->is_remote = is_remote;
	mode->is_local = !is_remote;
	mode->is_fast |= is_fast;
	return true;
}

/* The same for how names are demangled. */
static bool symbolize_mode_parse_names(const char *text, size_t length, struct symbolize_mode *mode)
{
	static const struct {
		const char *word;
		enum symbolize_names names;
	} words[] = {
		{"demangle=none", SYMBOLIZE_NAMES_RAW},
		{"demangle=full", SYMBOLIZE_NAMES_FULL},
		{"demangle=templates", SYMBOLIZE_NAMES_TEMPLATES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (symbolize_mode_is_word(text, length, words[i].word)) {
			mode->names = words[i].names;
			mode->is_forced = true;
			return true;
		}
	return symbolize_mode_is_word(text, length, "demangle=default");
}

bool symbolize_mode_parse(const char *text, struct symbolize_mode *ret)
{
	struct symbolize_mode mode = {.is_local = true,
				      .is_remote = true,
				      .names = SYMBOLIZE_NAMES_DEFAULT};
	bool is_none = false;

	for (;; text++) {
		size_t length = strcspn(text, ":");

		if (symbolize_mode_is_word(text, length, "none") ||
		    symbolize_mode_is_word(text, length, "no"))
			is_none = true;
		else if (symbolize_mode_is_word(text, length, "force"))
			mode.is_forced = true;
		else if (length && !symbolize_mode_parse_place(text, length, &mode) &&
			 !symbolize_mode_parse_names(text, length, &mode))
			return false;
		text += length;
		if (!*text)
			break;
	}
	*ret = is_none ? (struct symbolize_mode){0} : mode;
	return true;
}

struct symbolize_mode symbolize_mode_of(const char *text)
{
	struct symbolize_mode mode = {0};

	(void)symbolize_mode_parse(text, &mode);
	return mode;
}
