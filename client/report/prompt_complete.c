/* SPDX-License-Identifier: MIT */
/*
 * Every name that the word at the cursor may become is tried; what all that match have in common is
 * inserted, or they are listed.
 */
#include "client/report/prompt_complete.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/prompt_line.h"
#include "common/room.h"

#define WORD_SIZE 256

/* The word at the cursor, and the names that it may become. */
struct completion {
	char word[WORD_SIZE];
	size_t length;
	struct prompt_candidate *all; /* in the end sorted, each name once */
	size_t n, max;
	int error; /* 0 or negative errno */
};

static void try_name(struct completion *c, const char *name, char end)
{
	if (c->error || strncmp(name, c->word, c->length) != 0)
		return;
	c->error = room_make(&c->all, &c->max, c->n + 1, sizeof(*c->all));
	if (!c->error)
		c->all[c->n++] = (struct prompt_candidate){name, end};
}

static void try_commands(struct completion *c, const struct profile *p)
{
	static const char *const others[] = {"help", "options", "quit", "exit"};
	static const char *const choices[] = {"granularity", "sort"};

	for (const struct report_option *o = report_options_all; o->name; o++) {
		bool is_text = report_option_is_setting(o) && o->argument;

		if (o->is_input || o->kind == REPORT_OPTION_HELP)
			continue;
		try_name(c, o->name, is_text ? '=' : ' ');
		if (o->alias && o->alias[1])
			try_name(c, o->alias, ' ');
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		try_name(c, others[i], ' ');
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		try_name(c, choices[i], '=');
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		try_name(c, profile_string(p, p->sample_types[i].type), ' ');
}

static void try_functions(struct completion *c, const struct profile *p)
{
	for (size_t i = 0; i < p->n_functions; i++)
		try_name(c, profile_string(p, p->functions[i].name), ' ');
}

/* What setting @name, of @length bytes, may be set to. */
static void try_values(struct completion *c, const struct profile *p, const char *name,
		       size_t length)
{
	enum report_option_group group = prompt_choice_group(name, length);
	const struct report_option *option = report_option_find(name, length);

	for (const struct report_option *o = report_options_all; o->name; o++)
		if (o->kind == REPORT_OPTION_CHOICE && o->group == group)
			try_name(c, o->name, ' ');
	if (!option || option->kind != REPORT_OPTION_TEXT)
		return;
	if (option->offset == offsetof(struct report_options, sample_index))
		for (uint32_t i = 0; i < p->n_sample_types; i++)
			try_name(c, profile_string(p, p->sample_types[i].type), ' ');
	else if (option->group == REPORT_GROUP_FILTERS && strncmp(option->name, "tag", 3) != 0 &&
		 c->length)
		try_functions(c, p);
}

/* A setting is more than a sample type of the same name. */
static int completion_compare(const void *a, const void *b)
{
	const struct prompt_candidate *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : y->end - x->end;
}

static void completion_sort(struct completion *c)
{
	size_t n = 0;

	if (c->n)
		qsort(c->all, c->n, sizeof(*c->all), completion_compare);
	for (size_t i = 0; i < c->n; i++)
		if (!n || strcmp(c->all[n - 1].name, c->all[i].name) != 0)
			c->all[n++] = c->all[i];
	c->n = n;
}

/* A word that is longer than any name becomes none. */
static void completion_find(struct completion *c, const struct profile *p, const char *line,
			    size_t length)
{
	size_t at = length, first = 0;
	const char *equals;

	while (at && !isspace((unsigned char)line[at - 1]))
		at--;
	while (first < length && isspace((unsigned char)line[first]))
		first++;
	equals = at <= first ? memchr(line + first, '=', length - first) : NULL;
	if (equals)
		at = (size_t)(equals + 1 - line);
	else if (at > first && at < length && line[at] == '-')
		at++;
	if (length - at >= WORD_SIZE)
		return;
	memcpy(c->word, line + at, length - at);
	c->word[length - at] = '\0';
	c->length = length - at;
	if (equals)
		try_values(c, p, line + first, (size_t)(equals - line) - first);
	else if (at <= first || (length > first + 5 && memcmp(line + first, "help ", 5) == 0))
		try_commands(c, p);
	else if (c->length)
		try_functions(c, p);
	completion_sort(c);
}

bool prompt_complete(const struct profile *p, const char *line, size_t length, char *ret,
		     size_t size)
{
	struct completion c = {0};
	const char *first, *last;
	size_t common = 0, n_name;
	char end = '\0';

	completion_find(&c, p, line, length);
	if (c.n && !c.error) {
		first = c.all[0].name;
		last = c.all[c.n - 1].name;
		while (first[common] && first[common] == last[common])
			common++;
		if (c.n == 1)
			end = c.all[0].end;
		/* A name is read as an expression, in which arguments would mean something else. */
		n_name = c.length + strcspn(first + c.length, "(");
		if (n_name < common) {
			common = n_name;
			end = ' ';
		}
		common -= c.length;
		snprintf(ret, size, "%.*s%c", (int)common, first + c.length, end);
	}
	free(c.all);
	return (common || end) && common + 2 <= size;
}

int prompt_candidates(const struct profile *p, const char *line, size_t length,
		      struct prompt_candidate **ret, size_t *ret_n)
{
	struct completion c = {0};

	completion_find(&c, p, line, length);
	if (c.error)
		free(c.all);
	*ret = c.error ? NULL : c.all;
	*ret_n = c.n;
	return c.error;
}
