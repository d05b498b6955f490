/* SPDX-License-Identifier: MIT */
/*
 * A line is a setting, a sample type or a command, looked for in this order. A command's words
 * change a copy of the settings, which holds for that report alone.
 *
 * To complete a line, every name that the word at the cursor may become is tried.
 */
#include "client/report/prompt_line.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/wall.h"
#include "client/report/slip.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/room.h"
#include "common/text_print.h"

#define BLANKS " \t\r\n"
#define TOP    10 /* rows of text, where nobody says how many */

#define BAD(message, ...) profile_refuse(message, REPORT_E_BAD_OPTION, __VA_ARGS__)

void prompt_settings_deinit(struct prompt_settings *s)
{
	profile_arena_deinit(&s->texts);
}

static int prompt_copy_text(struct prompt_settings *s, const char *text, size_t length,
			    const char **ret)
{
	*ret = profile_arena_copy(&s->texts, text, length);
	return *ret ? 0 : error_origin(-ENOMEM);
}

/* Without the blanks at both ends. */
static void prompt_trim(const char **text, size_t *length)
{
	while (*length && isspace((unsigned char)**text)) {
		(*text)++;
		(*length)--;
	}
	while (*length && isspace((unsigned char)(*text)[*length - 1]))
		(*length)--;
}

/* --- settings --------------------------------------------------------------------------------- */

enum report_option_group prompt_choice_group(const char *name, size_t length)
{
	return word_is(name, length, "granularity") ? REPORT_GROUP_GRANULARITY
	       : word_is(name, length, "sort")      ? REPORT_GROUP_ORDER
						    : REPORT_N_GROUPS;
}

/* `name=value`; *ret_done false: it is none. */
static int prompt_assign(struct prompt_settings *s, const char *line, bool *ret_done,
			 struct profile_message *message)
{
	const char *equals = strchr(line, '='), *comment;
	const char *name = line, *value = equals ? equals + 1 : "";
	size_t length = equals ? (size_t)(equals - line) : strlen(line);
	size_t value_length = strlen(value);
	const struct report_option *option;
	enum report_option_group group;
	int r;

	*ret_done = false;
	prompt_trim(&name, &length);
	group = prompt_choice_group(name, length);
	comment = strstr(value, "//:"); /* as `o` prints it */
	if (comment)
		value_length = (size_t)(comment - value);
	prompt_trim(&value, &value_length);
	if (group != REPORT_N_GROUPS) {
		*ret_done = true;
		if (!equals)
			return BAD(message, "%.*s=NAME sets it", (int)length, name);
		option = report_option_find(value, value_length);
		if (!option || option->kind != REPORT_OPTION_CHOICE || option->group != group)
			return BAD(message, "%.*s cannot be '%.*s'; help %.*s lists what it can be",
				   (int)length, name, (int)value_length, value, (int)length, name);
		return report_option_set(&s->options, option, NULL, message);
	}
	option = report_option_find(name, length);
	/* A letter alone is a command. */
	if (!option || !report_option_is_setting(option) || (!equals && length == 1))
		return 0;
	*ret_done = true;
	if (!equals && option->argument)
		return BAD(message, "%s=VALUE sets it", option->name);
	if (word_is(value, value_length, "\"\""))
		value_length = 0;
	r = prompt_copy_text(s, value, value_length, &value);
	return r ? r : report_option_set(&s->options, option, value, message);
}

/* A type's name, perhaps behind total_ or mean_. */
static bool prompt_parse_type(struct prompt_settings *s, const char *word, size_t length)
{
	for (size_t i = 0; i < s->n_types; i++) {
		size_t n = strlen(s->types[i]), before = length - n;
		bool is_mean;

		if (length < n || memcmp(word + before, s->types[i], n) != 0)
			continue;
		is_mean = word_is(word, before, "mean_");
		if (before && !is_mean && !word_is(word, before, "total_"))
			continue;
		s->options.sample_index = s->types[i];
		if (before)
			s->options.mean = is_mean;
		return true;
	}
	return false;
}

/* --- views ------------------------------------------------------------------------------------ */

/* `a|b` of what was said before and @word. */
static int prompt_add_alternative(struct prompt_settings *s, const char **to, const char *word)
{
	cleanup(freep) char *both = NULL;
	int r = text_print(&both, "%s%s%s", *to, **to && *word ? "|" : "", word);

	return r ? r : prompt_copy_text(s, both, strlen(both), to);
}

struct words {
	char *rest; /* strtok_r()'s */
	const char *focus, *ignore, *pipe;
};

/* All that follows the bar, as it was typed. */
static int prompt_parse_pipe(struct prompt_settings *s, struct words *w, const char *word,
			     struct profile_message *message)
{
	cleanup(freep) char *command = NULL;
	const char *text;
	size_t length;

	if (text_print(&command, "%s %s", word + 1, w->rest ? w->rest : ""))
		return -ENOMEM;
	w->rest = NULL;
	text = command;
	length = strlen(command);
	prompt_trim(&text, &length);
	return length ? prompt_copy_text(s, text, length, &w->pipe)
		      : BAD(message, "which command, behind |?");
}

static int prompt_parse_word(struct prompt_settings *s, struct words *w, const char *word,
			     struct report_options *o, struct profile_message *message)
{
	if (report_parse_integer(word, &o->print.nodecount))
		return 0;
	if (*word == '>') {
		word = word[1] ? word + 1 : strtok_r(NULL, BLANKS, &w->rest);
		if (!word)
			return BAD(message, "which file, behind >?");
		return prompt_copy_text(s, word, strlen(word), &o->output);
	}
	if (*word == '|')
		return prompt_parse_pipe(s, w, word, message);
	if (strcmp(word, "-cum") == 0 || strcmp(word, "--cum") == 0) {
		o->print.by_cum = 1;
		return 0;
	}
	return *word == '-' ? prompt_add_alternative(s, &w->ignore, word + 1)
			    : prompt_add_alternative(s, &w->focus, word);
}

static int prompt_parse_view(struct prompt_settings *s, const struct report_option *view,
			     struct words *w, struct report_options *o,
			     struct profile_message *message)
{
	bool is_tags = view->value == REPORT_TAGS;
	const char *word;
	int r = 0;

	o->view = view->value;
	if (view->kind == REPORT_OPTION_VIEW_PATTERN) {
		word = strtok_r(NULL, BLANKS, &w->rest);
		if (!word)
			return BAD(message, "%s needs a regular expression: %s RE", view->name,
				   view->name);
		r = prompt_copy_text(s, word, strlen(word), &o->print.pattern);
	}
	w->focus = w->ignore = "";
	while (!r && w->rest && (word = strtok_r(NULL, BLANKS, &w->rest)))
		r = prompt_parse_word(s, w, word, o, message);
	if (*w->focus)
		*(is_tags ? &o->shape.tagfocus : &o->shape.focus) = w->focus;
	if (*w->ignore)
		*(is_tags ? &o->shape.tagignore : &o->shape.ignore) = w->ignore;
	if (o->view == REPORT_TEXT && o->print.nodecount == VIEW_NODECOUNT_DEFAULT)
		o->print.nodecount = TOP;
	return r;
}

/* The view that @word names, perhaps with a number behind it. */
static const struct report_option *prompt_find_view(const char *word, int *ret_count)
{
	const struct report_option *option = report_option_find(word, strlen(word));
	size_t length = strlen(word);

	if (option && report_option_is_view(option))
		return option;
	while (length && isdigit((unsigned char)word[length - 1]))
		length--;
	option = report_option_find(word, length);
	if (!option || !report_option_is_view(option) ||
	    !report_parse_integer(word + length, ret_count))
		return NULL;
	return option;
}

static int prompt_parse_command(struct prompt_settings *s, char *line, struct prompt_command *ret,
				struct profile_message *message)
{
	struct words w = {0};
	char *word = strtok_r(line, BLANKS, &w.rest);
	const struct report_option *view;
	int r;

	if (strcmp(word, "o") == 0 || strcmp(word, "options") == 0) {
		ret->kind = PROMPT_OPTIONS;
		return 0;
	}
	if (strcmp(word, "q") == 0 || strcmp(word, "quit") == 0 || strcmp(word, "exit") == 0) {
		ret->kind = PROMPT_QUIT;
		return 0;
	}
	if (strcmp(word, "help") == 0) {
		word = strtok_r(NULL, BLANKS, &w.rest);
		ret->kind = PROMPT_HELP;
		return prompt_copy_text(s, word ? word : "", word ? strlen(word) : 0, &ret->topic);
	}
	ret->options = s->options;
	view = prompt_find_view(word, &ret->options.print.nodecount);
	if (!view && strchr(word, '='))
		return BAD(message, "there is no setting '%.*s'; o lists them",
			   (int)strcspn(word, "=") < 80 ? (int)strcspn(word, "=") : 80, word);
	if (!view)
		return BAD(message, "there is no command '%.80s'; help lists them", word);
	ret->kind = PROMPT_REPORT;
	r = prompt_parse_view(s, view, &w, &ret->options, message);
	if (!r && w.pipe && *ret->options.output)
		return BAD(message, "either >%.80s or a command", ret->options.output);
	ret->pipe = w.pipe ? w.pipe : "";
	return r;
}

int prompt_parse_line(struct prompt_settings *s, const char *line, struct prompt_command *ret,
		      struct profile_message *message)
{
	cleanup(freep) char *own = NULL;
	size_t length = strlen(line);
	bool done;
	int r;

	*ret = (struct prompt_command){.kind = PROMPT_NOTHING, .topic = "", .pipe = ""};
	prompt_trim(&line, &length);
	if (!length)
		return 0;
	own = strndup(line, length);
	if (!own)
		return error_origin(-ENOMEM);
	if (strcmp(own, ":") == 0) {
		struct shape_options *o = &s->options.shape;

		o->focus = o->ignore = o->hide = o->tagfocus = o->tagignore = "";
		return 0;
	}
	if (prompt_parse_type(s, own, length))
		return 0;
	r = prompt_assign(s, own, &done, message);
	return r || done ? r : prompt_parse_command(s, own, ret, message);
}

/* --- completion ------------------------------------------------------------------------------- */

static void try_name(struct prompt_completion *c, const char *name, char end)
{
	if (c->error || strncmp(name, c->word, c->length) != 0)
		return;
	c->error = room_append(&c->all, &c->max, &c->n, (struct prompt_name){name, end});
}

static void try_types(struct prompt_completion *c, const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		try_name(c, profile_string(p, p->sample_types[i].type), ' ');
	if (wall_is_possible(p))
		try_name(c, WALL_TYPE, ' ');
}

static void try_commands(struct prompt_completion *c, const struct profile *p)
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
	try_types(c, p);
}

static void try_functions(struct prompt_completion *c, const struct profile *p)
{
	for (size_t i = 0; i < p->n_functions; i++)
		try_name(c, profile_string(p, p->functions[i].name), ' ');
}

/* What setting @name, of @length bytes, may be set to. */
static void try_values(struct prompt_completion *c, const struct profile *p, const char *name,
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
		try_types(c, p);
	else if (option->group == REPORT_GROUP_FILTERS && strncmp(option->name, "tag", 3) != 0 &&
		 c->length)
		try_functions(c, p);
}

/* A setting is more than a sample type of the same name. */
static int completion_compare(const void *a, const void *b)
{
	const struct prompt_name *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : y->end - x->end;
}

static void completion_sort(struct prompt_completion *c)
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
static void completion_find(struct prompt_completion *c, const struct profile *p, const char *line,
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
	if (length - at >= sizeof(c->word))
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

/* What all names that the word may be have in common, and the end of the only one. */
static void completion_set_text(struct prompt_completion *c)
{
	const char *first = c->all[0].name, *last = c->all[c->n - 1].name;
	size_t common = 0, n_name = c->length + strcspn(first + c->length, "(");
	char end = c->n == 1 ? c->all[0].end : '\0';

	while (first[common] && first[common] == last[common])
		common++;
	/* A name is read as an expression, in which arguments would mean something else. */
	if (n_name < common) {
		common = n_name;
		end = ' ';
	}
	if (common - c->length + 2 <= sizeof(c->text))
		snprintf(c->text, sizeof(c->text), "%.*s%c", (int)(common - c->length),
			 first + c->length, end);
}

int prompt_complete(struct prompt_completion *ret, const struct profile *p, const char *line,
		    size_t length)
{
	*ret = (struct prompt_completion){0};
	completion_find(ret, p, line, length);
	if (ret->n && !ret->error)
		completion_set_text(ret);
	return ret->error;
}

void prompt_completion_deinit(struct prompt_completion *c)
{
	free(c->all);
}
