/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WORDS_H
#define PROFD_TESTS_WORDS_H

/* Command lines as tests write them: words between blanks, without quotes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 64

/* Parsers borrow from the words, and may change their order. */
struct words {
	char text[1024];
	size_t n_bytes;
	char *argv[WORDS_MAX + 1]; /* NULL behind them */
	int argc;
};

static inline void words_add(struct words *w, const char *line)
{
	char *text = w->text + w->n_bytes, *rest = NULL;

	assert_true(strlen(line) < sizeof(w->text) - w->n_bytes);
	w->n_bytes += strlen(line) + 1;
	strcpy(text, line);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert_true(w->argc < WORDS_MAX);
		w->argv[w->argc++] = word;
	}
	w->argv[w->argc] = NULL;
}

/* Forgets those of before. */
static inline void words_split(struct words *w, const char *line)
{
	w->n_bytes = 0;
	w->argc = 0;
	words_add(w, line);
}

#endif
