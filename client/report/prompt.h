/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_PROMPT_H
#define PROFD_REPORT_PROMPT_H

/*
 * Reports on one profile, command by command (prompt_line.h). On a terminal, lines can be edited,
 * come back with the arrow keys, and are completed: commands and settings, and then the profile's
 * functions.
 */
#include <stdbool.h>
#include <stdio.h>

#include "client/report/load.h"
#include "client/report/options.h"

struct prompt_streams {
	FILE *in, *out, *err;
	bool is_terminal; /* out is one */
};

/* Until `quit` or the end of the input. @l holds its samples. 0 or negative errno. */
int prompt_run(struct load *l, const struct report_options *o, const struct prompt_streams *s);

#endif
