/* SPDX-License-Identifier: MIT */
/*
 * A list of windows is sorted by time and duration, so that the same window in two lists is found
 * as the two are merged. Those of a file are sorted once, when its comments have been read.
 *
 * Two lines of ledgers are looked through word by word; each word of the newer one is looked up in
 * the older one. Both are cut to a length first, so that this is bounded.
 */
#include "common/profile/windows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/room.h"
#include "common/text_print.h"

#define LEDGER "# profd ledger: "
#define WINDOW "# profd window: "
#define UNTIL  "# profd until: "

void profile_windows_deinit(struct profile_windows *windows)
{
	for (size_t i = 0; i < windows->n; i++)
		free(windows->all[i].ledger);
	free(windows->all);
	*windows = (struct profile_windows){0};
}

bool profile_windows_is_line(const char *comment)
{
	return strncmp(comment, LEDGER, strlen(LEDGER)) == 0 ||
	       strncmp(comment, WINDOW, strlen(WINDOW)) == 0 ||
	       strncmp(comment, UNTIL, strlen(UNTIL)) == 0;
}

const char *profile_window_parse(const char *text, struct profile_window *ret)
{
	struct profile_window window = {0};
	char *end;

	errno = 0;
	if (!isdigit((unsigned char)*text))
		return NULL;
	window.time_ns = strtoll(text, &end, 10);
	if (end[0] != '+' || !isdigit((unsigned char)end[1]))
		return NULL;
	window.duration_ns = strtoll(end + 1, &end, 10);
	if (errno || (*end && *end != ' '))
		return NULL;
	*ret = window;
	return *end ? end + 1 : end;
}

static int profile_window_order(const struct profile_window *a, const struct profile_window *b)
{
	int order = order_of(a->time_ns, b->time_ns) ?: order_of(a->duration_ns, b->duration_ns);

	if (order || a->time_ns)
		return order;
	return strcmp(a->ledger ? a->ledger : "", b->ledger ? b->ledger : "");
}

static int profile_windows_reserve(struct profile_windows *windows, size_t n)
{
	return room_make(&windows->all, &windows->capacity, windows->n + n, sizeof(*windows->all));
}

/* Puts a copy of @window, which is not before any other, to the end, unless it is there. */
static int profile_windows_append(struct profile_windows *windows,
				  const struct profile_window *window, bool *ret_added)
{
	const struct profile_window *last = windows->n ? &windows->all[windows->n - 1] : NULL;
	struct profile_window copy = *window;
	int r;

	*ret_added = false;
	/* What others wrote is never the same. */
	if (last && last->ledger && window->ledger && profile_window_order(last, window) >= 0)
		return 0;
	r = profile_windows_reserve(windows, 1);
	if (r)
		return r;
	if (window->ledger && !(copy.ledger = strdup(window->ledger)))
		return error_origin(-ENOMEM);
	windows->all[windows->n++] = copy;
	*ret_added = true;
	return 0;
}

int profile_windows_merge(struct profile_windows *windows, const struct profile_windows *from,
			  bool *which)
{
	cleanup(profile_windows_deinit) struct profile_windows merged = {
		.is_listed = windows->is_listed,
	};
	size_t at = 0;
	int r = profile_windows_reserve(&merged, windows->n + from->n);

	for (size_t i = 0; i < from->n && !r; i++) {
		if (!which[i])
			continue;
		while (at < windows->n &&
		       profile_window_order(&from->all[i], &windows->all[at]) >= 0) {
			merged.all[merged.n++] = windows->all[at];
			windows->all[at++].ledger = NULL;
		}
		r = profile_windows_append(&merged, &from->all[i], &which[i]);
	}
	if (r)
		return r;
	for (; at < windows->n; at++) {
		merged.all[merged.n++] = windows->all[at];
		windows->all[at].ledger = NULL;
	}
	profile_windows_deinit(windows);
	*windows = merged;
	merged = (struct profile_windows){0};
	return 0;
}

/* The window that a file without window lines is. */
static int add_whole(const struct profile *p, char *ledger, struct profile_windows *ret)
{
	const struct profile_window window = {.time_ns = p->time_ns,
					      .duration_ns = p->duration_ns,
					      .ledger = ledger};
	bool added;

	return profile_windows_append(ret, &window, &added);
}

/* A window line's, whose ledger is the comment's; and which line it is. */
struct listed {
	struct profile_window window;
	size_t number;
};

DEFINE_ORDER(profile_window_compare, struct listed,
	     profile_window_order(&x->window, &y->window) ?: order_of(x->number, y->number))

static int add_listed(struct listed *listed, size_t n, struct profile_windows *ret)
{
	bool added;
	int r = 0;

	if (n)
		qsort(listed, n, sizeof(*listed), profile_window_compare);
	for (size_t i = 0; i < n && !r; i++)
		r = profile_windows_append(ret, &listed[i].window, &added);
	ret->is_listed = n > 0;
	return r;
}

int profile_windows_of(const struct profile *p, struct profile_windows *ret)
{
	cleanup(freep) struct listed *listed = NULL;
	cleanup(freep) char *ledger = NULL;
	size_t n = 0, max = 0;
	const char *text;
	int r = 0;

	profile_windows_deinit(ret);
	for (size_t i = 0; i < p->n_comments && !r; i++) {
		const char *comment = profile_string(p, p->comments[i]);
		struct profile_window window;

		if (strncmp(comment, LEDGER, strlen(LEDGER)) == 0) {
			r = ledger_line_add(&ledger, comment + strlen(LEDGER));
		} else if (strncmp(comment, WINDOW, strlen(WINDOW)) == 0 &&
			   (text = profile_window_parse(comment + strlen(WINDOW), &window)) !=
				   NULL) {
			window.ledger = (char *)(uintptr_t)text;
			r = room_append(&listed, &max, &n,
					(struct listed){.window = window, .number = i});
		}
	}
	if (!r)
		r = n ? add_listed(listed, n, ret) : add_whole(p, ledger, ret);
	if (r)
		profile_windows_deinit(ret);
	return r;
}

int64_t profile_until_ns(const struct profile *p)
{
	int64_t until_ns = clamped_add(p->time_ns, p->duration_ns);

	for (size_t i = 0; i < p->n_comments; i++) {
		const char *comment = profile_string(p, p->comments[i]);

		if (strncmp(comment, UNTIL, strlen(UNTIL)) == 0)
			until_ns = strtoll(comment + strlen(UNTIL), NULL, 10);
	}
	return until_ns;
}

int profile_set_until(struct profile *p, int64_t until_ns)
{
	cleanup(freep) char *line = NULL;

	if (until_ns == clamped_add(p->time_ns, p->duration_ns))
		return 0;
	return text_print(&line, UNTIL "%" PRId64, until_ns) ?: profile_add_comment(p, line);
}

int profile_windows_list(const struct profile_windows *windows, struct profile *p)
{
	for (size_t i = 0; i < windows->n; i++) {
		const struct profile_window *w = &windows->all[i];
		cleanup(freep) char *line = NULL;
		int r = text_print(&line, WINDOW "%" PRId64 "+%" PRId64 "%s%s", w->time_ns,
				   w->duration_ns, w->ledger && *w->ledger ? " " : "",
				   w->ledger ? w->ledger : "")
				?: profile_add_comment(p, line);

		if (r)
			return r;
	}
	return 0;
}

bool profile_window_overlaps(uint64_t start_s, uint64_t seconds, uint64_t since_ns,
			     uint64_t until_ns)
{
	return (!since_ns || (start_s + seconds) * NS_PER_S > since_ns) &&
	       (!until_ns || start_s * NS_PER_S < until_ns);
}

uint64_t profile_window_seconds(uint64_t time_ns, uint64_t duration_ns)
{
	uint64_t seconds = duration_ns / NS_PER_S +
			   (time_ns % NS_PER_S + duration_ns % NS_PER_S + NS_PER_S / 2) / NS_PER_S;

	return seconds ? seconds : 1;
}

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
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r;

	if (!line || !*line)
		return 0;
	ledger_copy_bounded(*sum, old);
	ledger_copy_bounded(line, newest);
	r = memory_text_open(&text);
	if (r)
		return r;
	put_words(text.out, old, newest);
	r = memory_text_close(&text);
	if (r)
		return r;
	free(*sum);
	*sum = steal_ptr(&text.text);
	return 0;
}
