/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_PRODUCE_H
#define PROFD_REPORT_PRODUCE_H

/*
 * One report: samples from load.h through a shape into a view, or into another format. Views are
 * found by their option's name here and nowhere else.
 */
#include <stdbool.h>
#include <stdio.h>

#include "client/report/load.h"
#include "client/report/options.h"
#include "client/report/outcome.h"

/* What a report asks of its load, see load.h, and of where it goes. */
struct produce_needs {
	bool held, code, lines;
	bool binary; /* nothing for a terminal */
};

struct produce_needs produce_needs(const struct report_options *o);

/*
 * Looks at what can be wrong with a report before anything was read for it: its expressions.
 * REPORT_E_OK, _BAD_OPTION or negative errno.
 */
int produce_check(const struct report_options *o, struct profile_message *message);
/*
 * Writes the report to @out, whose errors are the caller's to look for. REPORT_E_* or negative
 * errno.
 */
int produce_report(struct load *l, const struct report_options *o, const struct listener *listener,
		   FILE *out, struct profile_message *message);

#endif
