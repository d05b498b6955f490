/* SPDX-License-Identifier: MIT */
/*
 * Two lines are looked through word by word; each word of the newer one is looked up in the older
 * one. Both are cut to a length first, so that this is bounded.
 */
#include "common/profile/ledger_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"

#define LINE_BYTES_MAX   4096
#define WORDS_MAX        128
#define COUNT_DIGITS_MAX 19
#define COUNT_MAX        UINT64_C(9999999999999999999)

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
		if (*c < '0' || *c > '9' || c - equals > COUNT_DIGITS_MAX) {
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

/* As many of the words of @line (NULL: none) as are taken. */
static void ledger_copy_bounded(const char *line, char ret[LINE_BYTES_MAX + 1])
{
	size_t n = line ? strnlen(line, LINE_BYTES_MAX + 1) : 0;

	if (n > LINE_BYTES_MAX)
		for (n = LINE_BYTES_MAX; n && !strchr(" \t\n", line[n]);)
			n--;
	if (n)
		memcpy(ret, line, n);
	ret[n] = '\0';
}

static void put_words(FILE *out, const char *old, const char *line)
{
	struct word w, other;
	unsigned n = 0;
	uint64_t sum;

	for (const char *p = line; n < WORDS_MAX && next_word(&p, &w); n++) {
		if (n)
			fputc(' ', out);
		if (w.is_count && find_count(old, &w, &other)) {
			if (__builtin_add_overflow(w.count, other.count, &sum) || sum > COUNT_MAX)
				sum = COUNT_MAX;
			fprintf(out, "%.*s=%" PRIu64, (int)w.name_length, w.text, sum);
		} else {
			fprintf(out, "%.*s", (int)w.length, w.text);
		}
	}
	/* Counts that only the older windows had. */
	for (const char *p = old; n < WORDS_MAX && next_word(&p, &w);) {
		if (!w.is_count || find_count(line, &w, &other))
			continue;
		fprintf(out, "%s%.*s", n++ ? " " : "", (int)w.length, w.text);
	}
}

int ledger_line_add(char **sum, const char *line)
{
	char old[LINE_BYTES_MAX + 1], newest[LINE_BYTES_MAX + 1];
	cleanup(freep) char *text = NULL;
	size_t size;
	FILE *out;

	if (!line || !*line)
		return 0;
	ledger_copy_bounded(*sum, old);
	ledger_copy_bounded(line, newest);
	out = open_memstream(&text, &size);
	if (!out)
		return error_origin(-ENOMEM);
	put_words(out, old, newest);
	if (fclose(out) != 0)
		return error_origin(-ENOMEM);
	free(*sum);
	*sum = steal_ptr(&text);
	return 0;
}
