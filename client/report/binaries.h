/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_BINARIES_H
#define PROFD_REPORT_BINARIES_H

/*
 * Names for what has none: from the program that was named first, from where the options and
 * $PPROF_BINARY_PATH say that programs and libraries lie, or from where the profile says.
 */
#include <stdbool.h>

#include "client/report/options.h"
#include "client/report/reading.h"
#include "common/profile/profile.h"

struct binaries_options {
	const struct report_inputs *inputs;
	const char *program; /* or NULL */
	bool want_lines;
	bool want_code; /* mappings shall have the paths of programs that can be read */
	void (*note)(void *context, const char *text);
	reading_tell progress; /* or NULL */
	void *context;
};

/* Whether @path is a program or library: an ELF file. */
bool binaries_is_program(const char *path);
/* Whether there is anything that binaries_name() would do. */
bool binaries_are_wanted(const struct profile *p, const struct binaries_options *o);
/* Blocks on files and the image worker. 0 or negative errno. */
int binaries_name(struct profile *p, const struct binaries_options *options);

#endif
