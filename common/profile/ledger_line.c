/* SPDX-License-Identifier: MIT */
#include "common/profile/ledger_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"

struct word {
	const char *text;
	size_t length, name_length; /* name: before '=' */
	bool is_count;
	uint64_t count;
};

/* The next word at *p; false at the end. */
static bool next_word(const char **p, struct word *ret)
{
	const char *equals;

	*p += strspn(*p, " \t\n");
	*ret = (struct word){.text = *p, .length = strcspn(*p, " \t\n")};
	if (!ret->length)
		return false;
	*p += ret->length;
	equals = memchr(ret->text, '=', ret->length);
	if (!equals)
		return true;
	ret->name_length = (size_t)(equals - ret->text);
	for (const char *c = equals + 1; c < *p; c++) {
		if (*c < '0' || *c > '9' || c - equals > 19) {
			ret->is_count = false;
			return true;
		}
		ret->is_count = true;
		ret->count = ret->count * 10 + (uint64_t)(*c - '0');
	}
	return true;
}

static bool find_count(const char *line, const struct word *like, struct word *ret)
{
	while (next_word(&line, ret))
		if (ret->is_count && ret->name_length == like->name_length &&
		    memcmp(ret->text, like->text, like->name_length) == 0)
			return true;
	return false;
}

int ledger_line_add(char **sum, const char *line)
{
	cleanup(freep) char *text = NULL;
	const char *old = *sum ? *sum : "", *p;
	struct word w, other;
	size_t size;
	FILE *out;

	if (!line || !*line)
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return error_origin(-ENOMEM);
	for (p = line; next_word(&p, &w);) {
		if (ftell(out) > 0)
			fputc(' ', out);
		if (w.is_count && find_count(old, &w, &other))
			fprintf(out, "%.*s=%" PRIu64, (int)w.name_length, w.text,
				w.count + other.count);
		else
			fprintf(out, "%.*s", (int)w.length, w.text);
	}
	/* Counts that only the older windows had. */
	for (p = old; next_word(&p, &w);)
		if (w.is_count && !find_count(line, &w, &other))
			fprintf(out, " %.*s", (int)w.length, w.text);
	if (fclose(out) != 0)
		return error_origin(-ENOMEM);
	free(*sum);
	*sum = steal_ptr(&text);
	return 0;
}
