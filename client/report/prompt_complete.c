/* SPDX-License-Identifier: MIT */
/*
 * Every name that the word at the cursor may become is tried; what all that match have in common is
 * inserted, or they are listed.
 */
#include "client/report/prompt_complete.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/prompt_line.h"
#include "common/error.h"
#include "common/room.h"

#define WORD_SIZE 256

/* What the names that were tried have in common, behind the word. */
struct completion {
	char word[WORD_SIZE];
	size_t length;
	const char *match; /* the first one; NULL: none */
	size_t common;     /* bytes of it, that all others have, too */
	char end;          /* what follows it if it is the only one */
	bool several;
	bool collects;      /* into these: every name that was tried with success */
	const char **names; /* borrowed */
	size_t n_names, max_names;
	bool lacks_memory;
};

static void completion_collect_name(struct completion *c, const char *name)
{
	if (room_make(&c->names, &c->max_names, c->n_names + 1, sizeof(*c->names)))
		c->lacks_memory = true;
	else
		c->names[c->n_names++] = name;
}

static void try_name(struct completion *c, const char *name, char end)
{
	size_t n = c->length;

	if (strncmp(name, c->word, c->length) != 0)
		return;
	if (c->collects)
		completion_collect_name(c, name);
	if (!c->match) {
		c->match = name;
		c->common = strlen(name);
		c->end = end;
		return;
	}
	if (strcmp(name, c->match) == 0)
		return;
	while (n < c->common && name[n] == c->match[n])
		n++;
	c->common = n;
	c->several = true;
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

/* A name is read as an expression, in which arguments would mean something else. */
static void cut_arguments(struct completion *c)
{
	size_t n = c->match ? strcspn(c->match + c->length, "(") : 0;

	if (!c->match || c->length + n >= c->common)
		return;
	c->common = c->length + n;
	c->several = false;
	c->end = ' ';
}

/* False: the word is longer than any name. */
static bool completion_find(struct completion *c, const struct profile *p, const char *line,
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
		return false;
	memcpy(c->word, line + at, length - at);
	c->word[length - at] = '\0';
	c->length = length - at;
	if (equals)
		try_values(c, p, line + first, (size_t)(equals - line) - first);
	else if (at <= first || (length > first + 5 && memcmp(line + first, "help ", 5) == 0))
		try_commands(c, p);
	else if (c->length)
		try_functions(c, p);
	return true;
}

bool prompt_complete(const struct profile *p, const char *line, size_t length, char *ret,
		     size_t size)
{
	struct completion c = {0};

	if (!completion_find(&c, p, line, length))
		return false;
	cut_arguments(&c);
	if (!c.match || (c.several && c.common == c.length) || c.common - c.length + 2 > size)
		return false;
	memcpy(ret, c.match + c.length, c.common - c.length);
	snprintf(ret + c.common - c.length, 2, "%c", c.several ? '\0' : c.end);
	return *ret != '\0';
}

static int completion_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int prompt_candidates(const struct profile *p, const char *line, size_t length, const char ***ret,
		      size_t *ret_n)
{
	struct completion c = {.collects = true};
	size_t n = 0;

	(void)completion_find(&c, p, line, length);
	if (c.lacks_memory) {
		free(c.names);
		return error_origin(-ENOMEM);
	}
	if (c.n_names)
		qsort(c.names, c.n_names, sizeof(*c.names), completion_compare_names);
	for (size_t i = 0; i < c.n_names; i++)
		if (!n || strcmp(c.names[n - 1], c.names[i]) != 0)
			c.names[n++] = c.names[i];
	*ret = c.names;
	*ret_n = n;
	return 0;
}
