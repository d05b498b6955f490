/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_PROMPT_COMPLETE_H
#define PROFD_REPORT_PROMPT_COMPLETE_H

/* How a line at the prompt goes on. Pure. */
#include <stdbool.h>
#include <stddef.h>

#include "common/profile/profile.h"

/*
 * The text that is to be inserted behind the first @length bytes of a line: what all names have in
 * common that the last word may be, and behind the only one that is left a blank, or = for
 * settings. Commands, settings and sample types first, behind = what the setting may be, then the
 * profile's functions. False: there is nothing to insert.
 */
bool prompt_complete(const struct profile *p, const char *line, size_t length, char *ret,
		     size_t size);

struct prompt_candidate {
	const char *name; /* borrowed */
	char end;         /* what follows it if it is the only one */
};

/*
 * The names that the last word may be, in their order, each once. The array is the caller's to
 * free. 0 or negative errno.
 */
int prompt_candidates(const struct profile *p, const char *line, size_t length,
		      struct prompt_candidate **ret, size_t *ret_n);

#endif
