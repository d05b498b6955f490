/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_BINARIES_H
#define PROFD_REPORT_BINARIES_H

/*
 * Names for what has none: from the program that was named first, from where the options and
 * $PPROF_BINARY_PATH say that programs and libraries lie, or from where the profile says.
 */
#include <stdbool.h>

#include "client/report/load.h"
#include "common/profile/profile.h"

/* Whether @path is a program or library: an ELF file. */
bool binaries_is_program(const char *path);
/* Gives all locations of @p, which has no mappings, one for all. 0 or negative errno. */
int binaries_add_whole_mapping(struct profile *p);
/* Whether there is anything that binaries_name() would do. */
bool binaries_are_wanted(const struct profile *p, const struct load_options *o);
/* Blocks on files and the image worker. 0 or negative errno. */
int binaries_name(struct profile *p, const struct load_options *options);

#endif
