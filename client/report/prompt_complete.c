/* SPDX-License-Identifier: MIT */
#include "client/report/prompt_complete.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "client/report/options.h"

/* What the names that were tried have in common, behind the word. */
struct completion {
	const char *word;
	size_t length;
	const char *match; /* the first one; NULL: none */
	size_t common;     /* bytes of it, that all others have, too */
	char end;          /* what follows it if it is the only one */
	bool several;
};

static void try_name(struct completion *c, const char *name, char end)
{
	size_t n = c->length;

	if (strncmp(name, c->word, c->length) != 0)
		return;
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

	for (const struct report_option *o = report_options_all; o->name; o++) {
		bool is_text = report_option_is_setting(o) && o->argument;

		if (o->is_input || o->kind == REPORT_OPTION_HELP)
			continue;
		try_name(c, o->name, is_text ? '=' : ' ');
		if (o->alias && o->alias[1])
			try_name(c, o->alias, ' ');
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		try_name(c, others[i], ' ');
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		try_name(c, profile_string(p, p->sample_types[i].type), ' ');
}

static void try_functions(struct completion *c, const struct profile *p)
{
	for (size_t i = 0; i < p->n_functions; i++)
		try_name(c, profile_string(p, p->functions[i].name), ' ');
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

bool prompt_complete(const struct profile *p, const char *line, size_t length, char *ret,
		     size_t size)
{
	size_t at = length, first = 0;
	struct completion c = {0};
	char word[256];

	while (at && !isspace((unsigned char)line[at - 1]))
		at--;
	while (first < length && isspace((unsigned char)line[first]))
		first++;
	if (at > first && at < length && line[at] == '-')
		at++;
	if (length - at >= sizeof(word))
		return false;
	memcpy(word, line + at, length - at);
	word[length - at] = '\0';
	c.word = word;
	c.length = length - at;
	if (at <= first || (length > first + 5 && memcmp(line + first, "help ", 5) == 0))
		try_commands(&c, p);
	else if (c.length)
		try_functions(&c, p);
	cut_arguments(&c);
	if (!c.match || (c.several && c.common == c.length) || c.common - c.length + 2 > size)
		return false;
	memcpy(ret, c.match + c.length, c.common - c.length);
	snprintf(ret + c.common - c.length, 2, "%c", c.several ? '\0' : c.end);
	return *ret != '\0';
}
