/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_OPTIONS_H
#define PROFD_PROFCTL_OPTIONS_H

/*
 * Command lines: options and operands in any order, `-F99 -F 99 --frequency=99 --frequency 99`,
 * `--` ends the options. An option that takes an argument takes the next word whatever it looks
 * like (`--since -10m`). Pure: unlike getopt(3) it has no state but struct options.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

struct option_spec {
	int id;                /* above 0 */
	char short_name;       /* or 0 */
	const char *long_name; /* or NULL */
	bool has_argument;
};

enum {
	OPTIONS_OPERAND = 0, /* the argument is the operand */
	OPTIONS_END = -1,
	OPTIONS_BAD = -2, /* see the message */
};

struct usage_message {
	char text[256]; /* one line: what is wrong with the command line */
};

struct options {
	char *const *argv; /* argv[0] is skipped; borrowed */
	int argc, at;
	const struct option_spec *specs;
	size_t n_specs;
	struct usage_message *message;
	const char *cluster; /* the rest of a word such as -ab */
	bool only_operands;
};

/* Before the first word; @options_specs is an array. */
#define OPTIONS_OF(options_argc, options_argv, options_specs, usage)                      \
	(struct options)                                                                  \
	{                                                                                 \
		.argv = (options_argv), .argc = (options_argc), .specs = (options_specs), \
		.n_specs = ARRAY_SIZE(options_specs), .message = (usage),                 \
	}

/* Returns the id of the next option, or OPTIONS_*; *ret_argument is borrowed from argv. */
int options_next(struct options *o, const char **ret_argument);

/* Fills the message; returns OPTIONS_BAD. */
int usage_error(struct usage_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
