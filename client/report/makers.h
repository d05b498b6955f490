/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_MAKERS_H
#define PROFD_REPORT_MAKERS_H

/* Which view an option means, and what it takes: private to produce.c. */
#include <stdbool.h>

#include "client/analysis/view.h"
#include "client/report/options.h"
#include "client/report/picture.h"

/* What a view is made by, and what it asks of its stacks beyond what it says itself. */
struct maker {
	const struct view_class *class; /* NULL: what is left becomes a profile */
	bool converts;
	const char *draws; /* what graphviz makes of it, or NULL */
	const char *shows; /* how a file of it is called, which a window shows; or NULL */
	enum picture_window window;
	bool binary;    /* nothing for a terminal */
	bool addresses; /* the profile as it is, but for the filters */
	bool objects;   /* tells files and modules, whatever the granularity */
	bool held;      /* all samples at once */
	bool frameless; /* samples that have no frames as well */
	bool units;     /* prints labels' numbers */
	bool lines;     /* tells lines, whatever the granularity */
	bool inlined;   /* inlined functions, whatever the user asked for */
	bool outermost; /* no inlined functions: what is inlined lies at the same address */
	bool adds_up;   /* what a function calls is part of it, which means are not */
};

/* Never NULL. */
const struct maker *maker_of(const struct report_options *o);

#endif
