/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_OPTIONS_H
#define PROFD_COMMON_OPTIONS_H

/*
 * Command lines: options and operands in any order, `-F99 -F 99 --frequency=99 --frequency 99`,
 * `--` ends the options. An option that takes an argument takes the next word whatever it looks
 * like (`--since -10m`). Pure: unlike getopt(3) it has no state. A verb's options are a table of
 * rows.
 */
#include <stdint.h>
#include <stdio.h>

#define HELP_COLUMNS 80

#define OPTIONS_BAD (-2) /* see the message */

struct usage_message {
	char text[256]; /* one line: what is wrong with the command line */
};

/* --help was given. */
#define VERB_HELP 1

/*
 * What an option does, of a verb whose options are a table of these up to one without parse: its
 * argument is read into @to. A row without names is for operands. Each parse function says with
 * OPTIONS_BAD and the message what is wrong; @name is the option's, as people write it.
 */
struct option_row {
	char short_name;       /* or 0 */
	const char *long_name; /* or NULL */
	int (*parse)(const char *name, const char *argument, void *to,
		     struct usage_message *message);
	void *to;
	/* Of all rows with the same text only one may be given, once; then this is what is said. */
	const char *only;
};

/* Parse functions, and what @to is; of texts, numbers and times none may be empty or 0. */
int option_flag(const char *name, const char *argument, void *to, struct usage_message *message);
int option_text(const char *name, const char *argument, void *to, struct usage_message *message);
int option_number(const char *name, const char *argument, void *to, struct usage_message *message);
int option_size(const char *name, const char *argument, void *to, struct usage_message *message);
int option_pid(const char *name, const char *argument, void *to, struct usage_message *message);
int option_duration(const char *name, const char *argument, void *to,
		    struct usage_message *message);
/* A duration, or seconds without a unit. */
int option_seconds(const char *name, const char *argument, void *to, struct usage_message *message);
/* A moment: @to is a struct option_moment. Its day and its time of day may be two words. */
struct option_moment {
	uint64_t now_ns, *to_ns; /* Unix time */
};
int option_moment(const char *name, const char *argument, void *to, struct usage_message *message);
/* "s12": *(uint64_t *)to = 12 */
int option_session(const char *name, const char *argument, void *to, struct usage_message *message);

/* Goes through a command line, argv[0] being the verb. Returns 0, OPTIONS_BAD or VERB_HELP. */
int options_parse(const struct option_row *rows, int argc, char *const *argv,
		  struct usage_message *message);
/*
 * The same up to the first operand, which is where a command begins that has the rest of the line;
 * *ret_command stays as it is where there is none.
 */
int options_parse_command(const struct option_row *rows, int argc, char *const *argv,
			  char *const **ret_command, struct usage_message *message);

/* Fills the message; returns OPTIONS_BAD. */
int usage_error(struct usage_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Prints the text of --help for a terminal of 80 columns. Lines that begin with a blank are rows,
 * "  NAME  description" with two blanks or more between the two; a long description continues below
 * its first word. Other lines are paragraphs, up to the next row or empty line, and are filled.
 */
void help_print(FILE *out, const char *text);

#endif
