/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_PROMPT_LINE_H
#define PROFD_REPORT_PROMPT_LINE_H

/*
 * What a line at the prompt means, as pprof has it:
 *
 *	top10 -cum foo -bar >file     a view, with options for this time: how many, the order, focus
 *	                              and ignore, and where it goes
 *	top10 | less                  the same, into a command of the shell
 *	list RE, peek RE ...          views that take an expression first
 *	name=value, lines, cum        a setting from now on
 *	cpu, total_cpu, mean_cpu      which value is shown, by the names of the profile's types
 *	:                             no filters any more
 *	o, help [NAME], quit
 *
 * Pure.
 */
#include <stddef.h>

#include "client/report/options.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"

enum prompt_kind {
	PROMPT_NOTHING, /* or a setting that has been made */
	PROMPT_REPORT,  /* of prompt_command.options */
	PROMPT_OPTIONS,
	PROMPT_HELP, /* on prompt_command.topic */
	PROMPT_QUIT,
};

struct prompt_command {
	enum prompt_kind kind;
	struct report_options options;
	const char *topic;
	const char *pipe; /* the shell's command that takes the report; "": none */
};

struct prompt_settings {
	struct report_options options;
	const char *const *types; /* the names of the sample types; borrowed */
	size_t n_types;
	struct profile_arena texts; /* what was typed */
};

void prompt_settings_deinit(struct prompt_settings *s);

/*
 * `granularity` and `sort`, pprof's names of the two settings whose values are names of options:
 * the group these choices are of. REPORT_N_GROUPS: it is neither.
 */
enum report_option_group prompt_choice_group(const char *name, size_t length);

/*
 * @line changes @s, or is what *ret says; its texts live as long as @s. 0, REPORT_E_BAD_OPTION with
 * a message, or negative errno.
 */
int prompt_parse_line(struct prompt_settings *s, const char *line, struct prompt_command *ret,
		      struct profile_message *message);

struct prompt_name {
	const char *name; /* borrowed */
	char end;         /* what follows it if it is the only one */
};

/* How a line goes on. */
struct prompt_completion {
	/*
	 * What is to be inserted: what all names have in common, and behind the only one that is
	 * left a blank, or = for settings. "": nothing.
	 */
	char text[256];
	struct prompt_name *all; /* in order, each once */
	size_t n, max;
	char word[256]; /* at the end of the line */
	size_t length;
	int error;
};

/*
 * The names that the last word of the @length bytes of @line may be. Commands, settings and sample
 * types first, behind = what the setting may be, then the profile's functions. *ret is written in
 * any case, to be freed with prompt_completion_deinit(). 0 or negative errno.
 */
int prompt_complete(struct prompt_completion *ret, const struct profile *p, const char *line,
		    size_t length);
void prompt_completion_deinit(struct prompt_completion *c);

#endif
