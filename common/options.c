/* SPDX-License-Identifier: MIT */
/*
 * The reader goes word by word: a word is an operand, a long option with or without its argument,
 * or a cluster of short ones. The row of its table reads each argument into its place.
 */
#include "common/options.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"

int usage_error(struct usage_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return OPTIONS_BAD;
}

int option_flag(const char *name, const char *argument, void *to, struct usage_message *message)
{
	(void)name, (void)argument, (void)message;
	*(bool *)to = true;
	return 0;
}

int option_text(const char *name, const char *argument, void *to, struct usage_message *message)
{
	*(const char **)to = argument;
	return *argument ? 0 : usage_error(message, "%s: empty argument", name);
}

/* The outcome of one of units.h's parsers; 0 is refused as well. */
static int option_check(int parsed, const uint64_t *number, const char *name, const char *wanted,
			const char *argument, struct usage_message *message)
{
	return parsed || !*number ? usage_error(message, "%s %s, not '%s'", name, wanted, argument)
				  : 0;
}

int option_number(const char *name, const char *argument, void *to, struct usage_message *message)
{
	return option_check(units_parse_number(argument, to), to, name, "must be a number above 0",
			    argument, message);
}

int option_size(const char *name, const char *argument, void *to, struct usage_message *message)
{
	return option_check(units_parse_size(argument, to), to, name, "takes a size such as 500M",
			    argument, message);
}

int option_duration(const char *name, const char *argument, void *to, struct usage_message *message)
{
	return option_check(units_parse_duration(argument, to), to, name,
			    "takes a duration such as 500ms, 10s or 2h30m", argument, message);
}

int option_seconds(const char *name, const char *argument, void *to, struct usage_message *message)
{
	return option_check(units_parse_seconds(argument, to), to, name,
			    "takes seconds, or a duration such as 500ms or 2h30m", argument,
			    message);
}

int option_moment(const char *name, const char *argument, void *to, struct usage_message *message)
{
	const struct option_moment *moment = to;

	if (units_parse_moment(argument, moment->now_ns, moment->to_ns))
		return usage_error(message,
				   "%s takes a moment such as -10m, 14:03, 'yesterday 14:03' or "
				   "2026-11-21T14:30:00Z, not '%s'",
				   name, argument);
	return 0;
}

int option_pid(const char *name, const char *argument, void *to, struct usage_message *message)
{
	bool is_word = (*argument >= 'a' && *argument <= 'z') ||
		       (*argument >= 'A' && *argument <= 'Z');
	uint64_t pid;

	(void)name;
	if (units_parse_number(argument, &pid) || !pid || pid > INT32_MAX)
		return usage_error(message, "'%s' is not a process id%s%s", argument,
				   is_word ? "; a service is -s " : "", is_word ? argument : "");
	*(int64_t *)to = (int64_t)pid;
	return 0;
}

int option_session(const char *name, const char *argument, void *to, struct usage_message *message)
{
	uint64_t *id = to;

	(void)name;
	return *argument != 's' || units_parse_number(argument + 1, id) || !*id
		       ? usage_error(message, "'%s' is not a session such as s1", argument)
		       : 0;
}

#define ROWS_MAX 24

/* A command line on its way through its rows. */
struct option_pass {
	const struct option_row *rows;
	char *const *argv;
	int argc, at;               /* at: the next word */
	const char *only[ROWS_MAX]; /* of the rows that were given */
	size_t n_only;
	struct usage_message *message;
};

static const struct option_row help_row = {.short_name = 'h', .long_name = "help"};

/* The row of the short option, or (0) of the long one of that name; NULL: there is none. */
static const struct option_row *option_find(const struct option_pass *o, char short_name,
					    const char *name, size_t length)
{
	const struct option_row *row = &help_row;

	for (; row == &help_row || row->parse; row = row == &help_row ? o->rows : row + 1)
		if (short_name ? row->short_name == short_name
			       : row->long_name && strlen(row->long_name) == length &&
					 strncmp(row->long_name, name, length) == 0)
			return row;
	return NULL;
}

static bool option_has_argument(const struct option_row *row)
{
	return row != &help_row && row->parse != option_flag;
}

static int option_apply(struct option_pass *o, const struct option_row *row, const char *argument)
{
	char name[64];

	if (row == &help_row)
		return VERB_HELP;
	if (row->short_name)
		snprintf(name, sizeof(name), "-%c", row->short_name);
	else
		snprintf(name, sizeof(name), "%s%s", row->long_name ? "--" : "operand",
			 row->long_name ? row->long_name : "");
	for (size_t i = 0; row->only && i < o->n_only; i++)
		if (strcmp(o->only[i], row->only) == 0)
			return usage_error(o->message, "%s", row->only);
	if (row->only)
		o->only[o->n_only++] = row->only;
	return row->parse(name, argument, row->to, o->message);
}

/* @name: as it was written; @argument: that of the same word, or NULL. */
static int option_take(struct option_pass *o, const struct option_row *row, const char *name,
		       const char *argument)
{
	char moment[UNITS_TEXT_MAX];

	if (!row)
		return usage_error(o->message, "unknown option %s", name);
	if (argument && !option_has_argument(row))
		return usage_error(o->message, "%s takes no argument", name);
	if (!argument && option_has_argument(row)) {
		if (o->at >= o->argc)
			return usage_error(o->message, "%s needs an argument", name);
		argument = o->argv[o->at++];
	}
	if (row->parse == option_moment && o->at < o->argc &&
	    units_moment_continues(argument, o->argv[o->at])) {
		snprintf(moment, sizeof(moment), "%s %s", argument, o->argv[o->at++]);
		argument = moment;
	}
	return option_apply(o, row, argument);
}

static int option_take_long(struct option_pass *o, const char *word)
{
	size_t length = strcspn(word, "=");
	char name[sizeof(o->message->text)];

	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	return option_take(o, option_find(o, 0, word + 2, length - 2), name,
			   word[length] ? word + length + 1 : NULL);
}

/* One or several short options: the last one of them may have the rest as its argument. */
static int option_take_cluster(struct option_pass *o, const char *word)
{
	int r = 0;

	while (!r && *++word) {
		const struct option_row *row = option_find(o, *word, NULL, 0);
		bool has_argument = row && option_has_argument(row);

		r = option_take(o, row, (char[]){'-', *word, '\0'},
				has_argument && word[1] ? word + 1 : NULL);
		if (has_argument)
			break;
	}
	return r;
}

int options_parse_command(const struct option_row *rows, int argc, char *const *argv,
			  char *const **ret_command, struct usage_message *message)
{
	struct option_pass o = {
		.rows = rows, .argv = argv, .argc = argc, .at = 1, .message = message};
	const struct option_row *operands = rows;
	bool only_operands = false;
	int r = 0;

	while (operands->parse && (operands->short_name || operands->long_name))
		operands++;
	while (!r && o.at < argc) {
		const char *word = argv[o.at++];

		if (!only_operands && strcmp(word, "--") == 0) {
			only_operands = true;
		} else if (!only_operands && word[0] == '-' && word[1]) {
			r = word[1] == '-' ? option_take_long(&o, word)
					   : option_take_cluster(&o, word);
		} else if (operands->parse) {
			r = option_apply(&o, operands, word);
		} else if (!ret_command) {
			r = usage_error(message, "unexpected argument '%s'", word);
		} else {
			*ret_command = argv + o.at - 1;
			return 0;
		}
	}
	return r;
}

int options_parse(const struct option_row *rows, int argc, char *const *argv,
		  struct usage_message *message)
{
	return options_parse_command(rows, argc, argv, NULL, message);
}

struct help {
	FILE *out;
	size_t column;
};

/* Adds the words of @line; those that do not fit continue at column @indent. */
static void help_fill(struct help *h, const char *line, size_t length, size_t indent)
{
	size_t word;

	for (size_t at = 0; at < length; at += word) {
		size_t blanks = strspn(line + at, " ");

		at += blanks;
		word = strcspn(line + at, " \n");
		if (blanks == 0 && h->column > indent)
			blanks = 1;
		if (h->column > indent && h->column + blanks + word > HELP_COLUMNS) {
			fprintf(h->out, "\n%*s", (int)indent, "");
			h->column = indent;
			blanks = 0;
		}
		fprintf(h->out, "%*s%.*s", (int)blanks, "", (int)word, line + at);
		h->column += blanks + word;
	}
}

static void help_end_line(struct help *h)
{
	if (h->column > 0)
		fputc('\n', h->out);
	h->column = 0;
}

/* The column of the description in an option's line; of others, of their first word. */
static size_t help_indent(const char *line, size_t length)
{
	size_t first = strspn(line, " ");

	for (size_t at = first; at + 2 < length; at++)
		if (line[at] == ' ' && line[at + 1] == ' ')
			return at + strspn(line + at, " ");
	return first;
}

void help_print(FILE *out, const char *text)
{
	struct help h = {.out = out};
	size_t length;

	for (; *text; text += length + (text[length] == '\n')) {
		bool is_row = *text == ' ';

		length = strcspn(text, "\n");
		if (is_row || length == 0)
			help_end_line(&h);
		help_fill(&h, text, length, is_row ? help_indent(text, length) : 0);
		if (is_row)
			help_end_line(&h);
		else if (length == 0)
			fputc('\n', out);
	}
	help_end_line(&h);
}
