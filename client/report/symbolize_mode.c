/* SPDX-License-Identifier: MIT */
#include "client/report/symbolize_mode.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

/* A word, and what it sets; a place is instead of the others. */
static const struct symbolize_mode_word {
	const char *word;
	struct symbolize_mode mode;
	bool is_place, is_none;
} words[] = {
	{.word = "none", .is_none = true},
	{.word = "no", .is_none = true},
	{.word = "local", .is_place = true, .mode = {.is_local = true}},
	{.word = "fastlocal", .is_place = true, .mode = {.is_local = true, .is_fast = true}},
	{.word = "remote", .is_place = true, .mode = {.is_remote = true}},
	{.word = "force", .mode = {.is_forced = true}},
	{.word = "demangle=default"},
	{.word = "demangle=none", .mode = {.is_forced = true, .names = SYMBOLIZE_NAMES_RAW}},
	{.word = "demangle=full", .mode = {.is_forced = true, .names = SYMBOLIZE_NAMES_FULL}},
	{.word = "demangle=templates",
	 .mode = {.is_forced = true, .names = SYMBOLIZE_NAMES_TEMPLATES}},
};

static const struct symbolize_mode_word *symbolize_mode_find(const char *text, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == length && !strncasecmp(text, words[i].word, length))
			return &words[i];
	return NULL;
}

bool symbolize_mode_parse(const char *text, struct symbolize_mode *ret)
{
	struct symbolize_mode mode = {.is_local = true,
				      .is_remote = true,
				      .names = SYMBOLIZE_NAMES_DEFAULT};
	bool is_none = false;

	for (size_t length; *text; text += length + (text[length] == ':')) {
		const struct symbolize_mode_word *w;

		length = strcspn(text, ":");
		w = symbolize_mode_find(text, length);
		if (!w && length)
			return false;
		if (!w)
			continue;
		is_none |= w->is_none;
		mode.is_local = w->is_place ? w->mode.is_local : mode.is_local;
		mode.is_remote = w->is_place ? w->mode.is_remote : mode.is_remote;
		mode.is_fast |= w->mode.is_fast;
		mode.is_forced |= w->mode.is_forced;
		mode.names = w->mode.names ? w->mode.names : mode.names;
	}
	*ret = is_none ? (struct symbolize_mode){0} : mode;
	return true;
}
