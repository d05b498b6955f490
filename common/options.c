/* SPDX-License-Identifier: MIT */
/*
 * The reader goes word by word: a word is an operand, a long option with or without its argument,
 * or a cluster of short ones. On top of it, a table of rows reads each argument into its place.
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

static int options_next_argument(struct options *o, const char *name, const char **ret_argument)
{
	if (o->at >= o->argc)
		return usage_error(o->message, "%s needs an argument", name);
	*ret_argument = o->argv[o->at++];
	return 0;
}

static int options_next_long(struct options *o, const char *word, const char **ret_argument)
{
	const char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < o->n_specs; i++) {
		const struct option_spec *spec = &o->specs[i];

		if (!spec->long_name || strlen(spec->long_name) != length - 2 ||
		    strncmp(spec->long_name, word + 2, length - 2) != 0)
			continue;
		if (value && !spec->has_argument)
			return usage_error(o->message, "--%s takes no argument", spec->long_name);
		*ret_argument = value ? value + 1 : NULL;
		if (!value && spec->has_argument && options_next_argument(o, word, ret_argument))
			return OPTIONS_BAD;
		return spec->id;
	}
	return usage_error(o->message, "unknown option %.*s", (int)length, word);
}

static int options_next_short(struct options *o, const char **ret_argument)
{
	const char name[] = {'-', *o->cluster, '\0'};

	for (size_t i = 0; i < o->n_specs; i++) {
		const struct option_spec *spec = &o->specs[i];

		if (spec->short_name != name[1])
			continue;
		o->cluster++;
		*ret_argument = NULL;
		if (spec->has_argument) {
			*ret_argument = o->cluster;
			if (!*o->cluster && options_next_argument(o, name, ret_argument))
				return OPTIONS_BAD;
			o->cluster = NULL;
		}
		return spec->id;
	}
	return usage_error(o->message, "unknown option %s", name);
}

int options_next(struct options *o, const char **ret_argument)
{
	const char *word;

	if (o->cluster && *o->cluster)
		return options_next_short(o, ret_argument);
	o->cluster = NULL;
	if (o->at == 0)
		o->at = 1;
	if (o->at >= o->argc)
		return OPTIONS_END;
	word = o->argv[o->at++];
	if (!o->only_operands && strcmp(word, "--") == 0) {
		o->only_operands = true;
		return options_next(o, ret_argument);
	}
	if (o->only_operands || word[0] != '-' || word[1] == '\0') {
		*ret_argument = word;
		return OPTIONS_OPERAND;
	}
	if (word[1] == '-')
		return options_next_long(o, word, ret_argument);
	o->cluster = word + 1;
	return options_next_short(o, ret_argument);
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
	return *argument ? 0 : usage_error(message, "the argument of %s is empty", name);
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
			    "takes a duration such as 500ms, 10s or 3d", argument, message);
}

int option_pid(const char *name, const char *argument, void *to, struct usage_message *message)
{
	uint64_t pid;

	(void)name;
	if (units_parse_number(argument, &pid) || !pid || pid > INT32_MAX)
		return usage_error(message, "'%s' is not a process id", argument);
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
	const char *only[ROWS_MAX]; /* of the rows that were given */
	size_t n_only;
	struct usage_message *message;
};

static int option_apply(struct option_pass *pass, const struct option_row *row,
			const char *argument)
{
	char name[64];

	if (row->short_name)
		snprintf(name, sizeof(name), "-%c", row->short_name);
	else
		snprintf(name, sizeof(name), "--%s", row->long_name ? row->long_name : "");
	if (!row->only)
		return row->parse(name, argument, row->to, pass->message);
	for (size_t i = 0; i < pass->n_only; i++)
		if (strcmp(pass->only[i], row->only) == 0)
			return usage_error(pass->message, "%s", row->only);
	pass->only[pass->n_only++] = row->only;
	return row->parse(name, argument, row->to, pass->message);
}

int options_parse_command(const struct option_row *rows, int argc, char *const *argv,
			  char *const **ret_command, struct usage_message *message)
{
	struct option_spec specs[ROWS_MAX + 1] = {{ROWS_MAX + 1, 'h', "help", false}};
	struct options o = {.argv = argv, .argc = argc, .specs = specs, .message = message};
	struct option_pass pass = {.message = message};
	const struct option_row *operands = NULL;
	const char *argument;
	int id, r = 0;

	o.n_specs = 1;
	for (int i = 0; rows[i].parse; i++) {
		if (!rows[i].short_name && !rows[i].long_name)
			operands = &rows[i];
		else
			specs[o.n_specs++] = (struct option_spec){i + 1, rows[i].short_name,
								  rows[i].long_name,
								  rows[i].parse != option_flag};
	}
	while (!r && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTIONS_BAD)
			return OPTIONS_BAD;
		if (id == ROWS_MAX + 1)
			return VERB_HELP;
		if (id != OPTIONS_OPERAND)
			r = option_apply(&pass, &rows[id - 1], argument);
		else if (operands)
			r = option_apply(&pass, operands, argument);
		else if (!ret_command)
			r = usage_error(message, "unexpected argument '%s'", argument);
		else
			break;
	}
	if (!r && ret_command && id == OPTIONS_OPERAND)
		*ret_command = argv + o.at - 1;
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
